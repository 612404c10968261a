"""The server side of onnxlet: from an app file and its models to a folder that any static host can serve.

Nothing of this package is shipped to the page. `cli.py` is the way in; `build.py` at the root calls it.
"""
