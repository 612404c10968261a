"""The models of a site: prepared, placed, and written once each, whichever apps share them."""

import re
from pathlib import Path
from typing import Any

import onnx

from onnxlet.dtypes import DataType
from onnxlet.model import Model
from onnxlet.providers import faults
from onnxlet.source import NodeArg

from .convert import prepare
from .fetch import sha256
from .manifest import Tree
from .models import infer_types, place
from .progress import Reporter

__all__ = ["SiteModels"]


def _faults(model: Model) -> dict[str, str]:
    """What a provider is known to compute wrongly in a model, by provider: the page cuts the graph around it."""
    found = {name: faults.known(model, name) for name in faults.PROVIDERS}
    return {name: next(iter(reasons.values())) for name, reasons in found.items() if reasons}


class SiteModels:
    """Writes models into a site and describes them as site.json does.

    Args:
        tree: the site being written; its size limit decides how files are cut.
    """

    def __init__(self, tree: Tree, report: Reporter) -> None:
        self._tree = tree
        self._report = report
        self._ids: dict[str, str] = {}  # sha256 -> id
        self.entries: dict[str, dict[str, Any]] = {}

    def add(self, path: Path) -> str:
        """Write a model unless it is there already. Returns: its id.

        Raises: BuildError: the page cannot take it.
        """
        prepared = prepare(path)
        digest = sha256(prepared.data)
        if digest in self._ids:
            return self._ids[digest]
        for change in prepared.changes:
            self._report.note(f"{path.name}: {change}")
        model_id = self._new_id(path.stem)
        self._ids[digest] = model_id
        placement = place(prepared.model, infer_types(onnx.load_model_from_string(prepared.data)))
        signature = prepared.signature
        metadata = signature.metadata
        self.entries[model_id] = {
            "name": path.name,
            "variants": [
                {
                    "parts": self._parts(path.stem, prepared.data, model_id),
                    "bytes": len(prepared.data),
                    "sha256": digest,
                    "format": weight_format(prepared.model),
                    "backends": list(placement.backends),
                }
            ],
            "inputs": _args(signature.inputs),
            "outputs": _args(signature.outputs),
            "overridable": _args(signature.overridable),
            "metadata": {name: getattr(metadata, name) for name in metadata.__slots__},
            "faults": _faults(prepared.model),
            "prefer": list(placement.prefer),
            "reason": placement.reason,
        }
        return model_id

    def _new_id(self, stem: str) -> str:
        base = re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-") or "model"
        number = 1
        while (model_id := base if number == 1 else f"{base}-{number}") in self.entries:
            number += 1
        return model_id

    def _parts(self, stem: str, data: bytes, model_id: str) -> list[str]:
        limit = self._tree.limit_bytes or len(data)
        group = f"model:{model_id}"
        if len(data) <= limit:
            return [self._tree.file(f"{model_id}.onnx", data, group)]
        pieces = [data[at : at + limit] for at in range(0, len(data), limit)]
        return [self._tree.file(f"{model_id}.part{i}", piece, group) for i, piece in enumerate(pieces)]


def weight_format(model: Model) -> str:
    """What most of the weights are stored as: fp32, fp16, int8, int4 ...; "none" without weights."""
    names = {DataType.FLOAT: "fp32", DataType.FLOAT16: "fp16", DataType.DOUBLE: "fp64", DataType.UINT8: "int8"}
    sizes: dict[str, int] = {}
    for tensor in model.graph.initializers:
        name = names.get(tensor.data_type, tensor.data_type.name.lower())
        count = 1
        for size in tensor.dims:
            count *= size
        sizes[name] = sizes.get(name, 0) + count * tensor.data_type.bits
    return max(sizes, key=lambda name: sizes[name]) if sizes else "none"


def _args(args: tuple[NodeArg, ...]) -> list[dict[str, Any]]:
    return [{"name": arg.name, "type": arg.type, "shape": arg.shape} for arg in args]
