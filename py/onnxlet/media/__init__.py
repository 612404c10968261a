"""Pictures and sound as numpy arrays: decoding, resizing, resampling, drawing. The same code on both sides."""
