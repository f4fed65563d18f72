"""Encoders without torch: exported once, run by ONNX Runtime. May import training and below."""
