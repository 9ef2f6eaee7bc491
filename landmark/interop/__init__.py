"""Import and export of other libraries' formats: CTranslate2, ONNX, Hugging Face."""
