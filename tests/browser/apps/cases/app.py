"""What apps do that crosses badly between Python and JavaScript, from public bug reports (rows P02-P04, W06, W07)."""

import asyncio
import json
import math
import pathlib

import numpy as np
from helper_mod import double
from пакет.інше import NAME

from onnxlet import App, File, Image, InferenceSession, Tensor

HERE = pathlib.Path(__file__).parent
ROWS = (HERE / "data" / "O'Brien ☃ 100%.csv").read_text(encoding="utf-8").splitlines()
CONFIG = json.loads((HERE / "data" / "cfg.json").read_text(encoding="utf-8-sig"))

add1 = InferenceSession("add1.onnx")
dtypes = InferenceSession("dtypes.onnx")
parallel = InferenceSession("parallel.onnx")

BASE = np.arange(12, dtype=np.float32).reshape(3, 4)
GOOD = {
    "plain": BASE,
    "transposed": BASE.T,
    "reversed": BASE[::-1, ::-1],
    "strided": np.arange(48, dtype=np.float32).reshape(6, 8)[::2, ::2],
    "fortran": np.asfortranarray(BASE),
    "big_endian": BASE.astype(">f4"),
    "broadcast": np.broadcast_to(np.float32(2), (3, 4)),
    "readonly": np.frombuffer(BASE.tobytes(), np.float32).reshape(3, 4),
    "empty": np.zeros((0, 4), np.float32),
    "one": np.ones((1, 1), np.float32),
    "subclass": np.matrix(BASE),
    "list": BASE.tolist(),
}
OTHER = {
    "masked": np.ma.masked_array(BASE, BASE > 9),
    "float64": BASE.astype(np.float64),
    "float16": BASE.astype(np.float16),
    "int32": BASE.astype(np.int32),
    "int64": BASE.astype(np.int64),
    "uint8": BASE.astype(np.uint8),
    "bool": BASE > 5,
    "object": BASE.astype(object),
    "3-D": BASE[None],
    "1-D": BASE[0],
    "strings": np.array([["a", "b"]]),
    "ragged": [[1, 2], [3]],
    "none": None,
    "complex": BASE * 1j,
}


def arrays() -> dict:
    """Every array that an app may hand over: x + 1 and the sum, or one clear refusal."""
    results = {}
    for name, array in (GOOD | OTHER).items():
        try:
            y, total = add1.run(None, {"x": array})
            results[name] = {"y": y.tolist(), "sum": float(total.reshape(-1)[0])}
        except Exception as error:
            results[name] = {"refused": f"{type(error).__name__}: {error}"}
    (nan, _) = add1.run(None, {"x": BASE * np.nan})
    results["nan"] = bool(np.isnan(nan).all())
    return results


def numbers() -> dict:
    """Values that JSON or a page would change."""
    return {
        "id": 2**53 + 1,
        "id64": np.int64(-(2**63)),
        "f32": np.float32(0.1),
        "nan": math.nan,
        "inf": np.inf,
        "none": None,
        "bool": np.bool_(True),
        "text": "\u2028</script>'\"&",
        "bytes": b"\x00\xff",
        "zero_d": np.array(5),
        "nested": {"a": [np.int32(1), (2, 3)]},
        "obj": np.array([10**30], dtype=object),
    }


def paths() -> dict:
    """A second module, a package and data files with names from anywhere."""
    return {"double": double(4), "name": NAME, "rows": len(ROWS), "k": CONFIG["k"]}


def kinds() -> dict:
    """float16, bool and uint8 in and out."""
    feeds = {
        "h": np.array([0.5, -1.25, 30000], np.float16),
        "b": np.array([True, False, True]),
        "u": np.array([0, 128, 255], np.uint8),
    }
    return {
        arg.name: {"dtype": str(value.dtype), "value": value.tolist()}
        for arg, value in zip(dtypes.get_outputs(), dtypes.run(None, feeds), strict=True)
    }


async def at_once() -> dict:
    """Four runs of one session, none awaited before the last has begun."""
    feeds = [np.full((2, 64), k, np.float32) / 8 for k in (-1, 0, 1, 2)]
    together = await asyncio.gather(*(parallel.arun(None, {"x": x}) for x in feeds))
    alone = [await parallel.arun(None, {"x": x}) for x in feeds]
    return {"equal": [bool(np.array_equal(a[0], b[0])) for a, b in zip(together, alone, strict=True)]}


def increment(x: Tensor) -> Tensor:
    """x + 1 for float32 [a, b]; anything else is the core's error."""
    return add1.run(None, {"x": x})[0]


def size(picture: Image) -> dict:
    """Width and height of a picture, and its mean grey level."""
    return {"size": list(picture.size), "mean": round(float(picture.gray().array.mean()), 3)}


def length(data: File) -> int:
    """Bytes of a file."""
    return len(data)


def fail() -> str:
    """A mistake in the app itself."""
    return {}["missing"]


def forever() -> str:
    """Never ends: for the stop button."""
    while True:
        pass


app = App(arrays, numbers, paths, kinds, at_once, increment, size, length, fail, forever, title="Cases")
