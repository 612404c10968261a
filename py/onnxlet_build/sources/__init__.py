"""Where models come from: one module a framework."""
