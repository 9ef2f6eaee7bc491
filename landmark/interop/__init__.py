"""Models out to other libraries' formats: CTranslate2, ONNX."""
