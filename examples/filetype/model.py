"""Magika's model and its tables, out of the magika package on PyPI (Apache-2.0, Google)."""

from onnxlet_build.fetch import from_pypi

PACKAGE = "magika==1.0.3"
MODEL = "fe2d2eb49c5f88a9e0a6c048e15d6ffdf86235519c2afc535044de433169ec8c"
CONFIG = "ae24c742205358f6ff6dfd5facb6743fb69743dbba8373e73da58ff0cbd695db"
KINDS = "75208adba69bc0556403b62b32ef3ccf8b5ce494411780845852e52e6583a10d"


def model():
    """The model, its thresholds and labels, and what is known of each kind of file."""
    return {
        "magika.onnx": from_pypi(PACKAGE, "magika/models/standard_v3_3/model.onnx", MODEL),
        "magika.json": from_pypi(PACKAGE, "magika/models/standard_v3_3/config.min.json", CONFIG),
        "kinds.json": from_pypi(PACKAGE, "magika/config/content_types_kb.min.json", KINDS),
    }
