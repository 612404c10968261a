"""Encoded pictures to pixels and back, by Pillow: the only file that imports it.

The page loads Pillow's Pyodide wheel when the first picture comes, so both sides decode with the same code.
Rules that hold on both sides: the content decides the format, not the name; the EXIF orientation is applied;
of an animation the first frame counts; 16-bit channels keep their high byte; colour profiles are ignored.
"""

from __future__ import annotations

import io
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from ..dtypes import Array
from ..errors import InvalidInput

if TYPE_CHECKING:
    from PIL.Image import Image as PillowImage

__all__ = ["FORMATS", "MAX_PIXELS", "decode", "encode_png"]

# Formats that a browser or a camera makes (MPO, of cameras with two lenses, opens as JPEG). Pillow knows more; some of
# them start other programs (EPS).
FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "AVIF", "ICO", "PPM")

# 400 MB as RGBA: what a 32-bit WebAssembly heap holds beside a model. The largest phone camera mode is 200 megapixels.
MAX_PIXELS = 100_000_000

_SIGNATURES = (
    (b"\x89PNG", "PNG"),
    (b"\xff\xd8\xff", "JPEG"),
    (b"GIF8", "GIF"),
    (b"BM", "BMP"),
    (b"II*\0", "TIFF"),
    (b"MM\0*", "TIFF"),
)

_EXIF_ORIENTATION = 0x0112


def decode(data: bytes, name: str = "") -> Array:
    """Pixels of an encoded picture.

    Args:
        data: the whole file.
        name: for messages.
    Returns: uint8 [H, W, 3] (RGB; of a grey picture the channels are equal) or [H, W, 4] (RGBA, not premultiplied).
    Raises: InvalidInput: no picture, damaged, too large, or a format that is not taken.
    """
    pillow = _pillow()
    where = f'picture "{name}"' if name else "picture"
    if not data:
        raise InvalidInput(f"{where}: expected an image file, got 0 bytes; choose another file")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow's size and metadata warnings; the size is checked below
        try:
            image = pillow.open(io.BytesIO(data), formats=FORMATS)
        except pillow.DecompressionBombError:
            raise InvalidInput(f"{where}: more than {MAX_PIXELS:,} pixels; make it smaller first") from None
        except Exception as error:
            raise InvalidInput(f"{where}: {_not_opened(data)}") from error
        with image:
            width, height = image.size
            if width * height > MAX_PIXELS:
                raise InvalidInput(
                    f"{where}: {width} x {height} pixels, expected at most {MAX_PIXELS:,} in all; make it smaller first"
                )
            try:
                image.load()
                orientation = _orientation(image)
                pixels = _pixels(image)
            except Exception as error:  # Pillow's decoders raise OSError, SyntaxError, ValueError, struct.error ...
                if isinstance(error, InvalidInput):
                    raise InvalidInput(f"{where}: {error}") from None
                raise InvalidInput(
                    f"{where}: a damaged or cut {image.format} file of {len(data):,} bytes ({error}); get it again"
                ) from error
    return _turn(pixels, orientation)


def encode_png(pixels: Array) -> bytes:
    """PNG file of uint8 pixels [H, W], [H, W, 3] or [H, W, 4]."""
    out = io.BytesIO()
    _pillow().fromarray(pixels).save(out, "PNG")
    return out.getvalue()


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError as error:
        raise InvalidInput("pictures need Pillow, which is not installed; pip install pillow") from error
    return Image


def _not_opened(data: bytes) -> str:
    if kind := next((k for start, k in _SIGNATURES if data.startswith(start)), "WEBP" if data[8:12] == b"WEBP" else ""):
        return f"a damaged or cut {kind} file of {len(data):,} bytes, or a kind of {kind} that this Pillow cannot read"
    return (
        f"expected an image ({', '.join(FORMATS)}), got {len(data):,} bytes that start with {data[:8]!r}; "
        "choose a file in one of these formats"
    )


def _pixels(image: PillowImage) -> Array:
    mode = image.mode
    if mode.startswith("I;16"):
        levels = np.asarray(image)
        grey = (levels.astype(np.uint16) >> 8).astype(np.uint8)
        key = image.info.get("transparency")  # one grey level that is transparent
        alpha = [np.where(levels == key, 0, 255).astype(np.uint8)] if isinstance(key, int) else []
        return np.dstack([grey, grey, grey, *alpha])
    if mode in ("I", "F"):
        kind = "whole" if mode == "I" else "floating point"
        raise InvalidInput(f"32-bit {kind} grey levels have no agreed white; save it with 8 or 16 bits a channel")
    if mode in ("RGBA", "LA", "PA", "RGBa", "La") or "transparency" in image.info:
        return np.array(image.convert("RGBA"))
    return np.array(image.convert("RGB"))


def _orientation(image: PillowImage) -> int:
    try:
        value = image.getexif().get(_EXIF_ORIENTATION, 1)
    except Exception:  # damaged metadata must not cost the picture
        return 1
    return value if isinstance(value, int) else 1


def _turn(pixels: Array, orientation: int) -> Array:
    """Undo EXIF's orientation: 1 to 8 are the eight ways to lay a rectangle, others mean upright."""
    if orientation in (2, 5, 7, 4):
        pixels = pixels[:, ::-1]
    turns = {3: 2, 4: 2, 5: 1, 6: 3, 7: 3, 8: 1}.get(orientation, 0)  # counter-clockwise quarter turns
    return np.ascontiguousarray(np.rot90(pixels, turns))
