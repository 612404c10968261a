"""Files that people take for ONNX models, and what happens to models on their way: sentences for errors."""

from __future__ import annotations

from .errors import InvalidModel

__all__ = ["explain_damage", "refuse_other_kinds"]

# First bytes, none of which can begin an ONNX file: what they are, and what to do.
_MAGIC = (
    (b"\x1f\x8b", "is compressed with gzip: unpack it first, or let the server say `Content-Encoding: gzip`"),
    (b"\x28\xb5\x2f\xfd", "is compressed with Zstandard: unpack it first"),
    (b"PK\x03\x04", "is a zip archive, such as a PyTorch checkpoint (.pt) or an .npz: export the model to ONNX"),
    (b"\x80\x02", "is a Python pickle, such as a PyTorch or scikit-learn model: export the model to ONNX"),
    (b"\x80\x03", "is a Python pickle, such as a scikit-learn model: export the model to ONNX"),
    (b"\x80\x04", "is a Python pickle, such as a scikit-learn model: export the model to ONNX"),
    (b"\x80\x05", "is a Python pickle, such as a scikit-learn model: export the model to ONNX"),
    (b"\x89HDF", "is an HDF5 file, such as a Keras model: export the model to ONNX"),
    (b"GGUF", "is a GGUF file (llama.cpp), not an ONNX model"),
    (b"version https://git-lfs", "is a git-lfs pointer: fetch the real file with `git lfs pull`"),
)
_SEARCHED_BYTES = 2**20
_DAMAGED_LINES = 3  # so many CR LF pairs without a lone LF are no accident


def refuse_other_kinds(data: memoryview) -> None:
    """Refuse what is plainly another kind of file.

    Raises: InvalidModel: says which kind.
    """
    if not len(data):
        raise InvalidModel("the file has 0 bytes: the download or the copy failed")
    start = bytes(data[:512])
    for magic, sentence in _MAGIC:
        if start.startswith(magic):
            raise InvalidModel(f"the file {sentence}")
    if start[4:8] in (b"TFL3", b"ORTM"):
        kind = "TensorFlow Lite" if start[4:8] == b"TFL3" else "onnxruntime's own (.ort)"
        raise InvalidModel(f"the file has the format of {kind}: give the .onnx file it was made from")
    text = start.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if text.startswith((b"<!doctype", b"<html", b"<head", b"<?xml", b"<!--")):
        raise InvalidModel(
            "the file is a web page, not a model: the server answered with HTML, often for a wrong address"
        )
    if text.startswith((b'{"', b"{\n", b"{\r\n", b"[{")):
        raise InvalidModel(
            "the file is JSON, not a model: the server may have answered with an error, or it is a config"
        )


def explain_damage(data: memoryview) -> str:
    """ "", or a clause that says how a file that cannot be read was damaged."""
    content = bytes(data[:_SEARCHED_BYTES])
    pairs = content.count(b"\r\n")
    if pairs >= _DAMAGED_LINES and pairs == content.count(b"\n"):
        return (
            "; every line feed in the file has a carriage return before it: it was copied as text "
            "(git's autocrlf, FTP's ASCII mode); copy it again as binary"
        )
    return ""
