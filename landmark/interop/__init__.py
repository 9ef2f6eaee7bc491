"""Models out to other libraries' formats, and in from them: CTranslate2, ONNX, Hugging Face."""
