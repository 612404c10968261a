"""The parts of `onnxlet.Tokenizer`: what its files say, who splits text, and what is put around the pieces."""
