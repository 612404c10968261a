"""The core as a wheel for the page: the files of py/onnxlet, byte for byte the same whenever they are the same."""

import base64
import hashlib
import io
import zipfile

import onnxlet

from .paths import CORE

__all__ = ["core_wheel", "wheel_bytes"]

_EPOCH = (1980, 1, 1, 0, 0, 0)  # the oldest time that a zip file can hold


def core_wheel() -> tuple[str, bytes]:
    """File name and bytes of the core's wheel."""
    files = {
        f"onnxlet/{path.relative_to(CORE).as_posix()}": path.read_bytes()
        for path in sorted(CORE.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts and path.suffix in (".py", ".typed")
    }
    return wheel_bytes("onnxlet", onnxlet.__version__, files)


def wheel_bytes(name: str, version: str, files: dict[str, bytes]) -> tuple[str, bytes]:
    """A pure-Python wheel. Source of the format: the PyPA specification "Binary distribution format"."""
    info = f"{name}-{version}.dist-info"
    members = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: onnxlet\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},sha256={_record_hash(data)},{len(data)}\n" for path, data in members.items())
    members[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path, data in members.items():
            entry = zipfile.ZipInfo(path, _EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data)
    return f"{name}-{version}-py3-none-any.whl", stream.getvalue()


def _record_hash(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
