"""The models of a site: prepared, placed, and written once each, whichever apps share them."""

import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import onnx

from onnxlet.errors import BuildError
from onnxlet.model import Model
from onnxlet.providers import faults
from onnxlet.source import NodeArg

from .choose import Choice
from .convert import prepare
from .fetch import sha256
from .footprint import activation_bytes
from .formats import computes_in_half, weight_format
from .manifest import Tree
from .models import infer_types, place
from .progress import Reporter
from .variants import ORIGINAL, Candidate, Proof

__all__ = ["PART_BYTES", "SiteModels"]

PART_BYTES = 128 << 20  # the page checks and keeps a file as a whole, which takes its bytes twice for that moment


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
        self._ids: dict[str, str] = {}  # sha256 of what is shipped -> id
        self.entries: dict[str, dict[str, Any]] = {}

    def add(
        self,
        path: Path,
        candidates: Sequence[Candidate] = (),
        proofs: Sequence[Proof] = (),
        choice: Choice | None = None,
        references: Sequence[tuple[Path, Path]] = (),
    ) -> str:
        """Write a model unless it is there already.

        Args:
            path: the model as the app opens it.
            candidates, proofs: what was tried; ORIGINAL among them.
            choice: which of them to ship. None ships the model itself, by rules of thumb.
            references: pairs of .npz files for the visitor's own check: feeds, and the original's outputs.
        Returns: its id.
        Raises: BuildError: the page cannot take it, or no variant is right anywhere.
        """
        original = prepare(path)
        types = infer_types(onnx.load_model_from_string(original.data))
        placement = place(original.model, types)
        names = list(dict.fromkeys(choice.by_class.values())) if choice else [ORIGINAL]
        if choice and not names:
            raise BuildError(f"{path.name}: no backend gives right answers: {'; '.join(choice.reasons.values())}")
        files = {c.name: c.path for c in candidates if c.path}
        prepared = [prepare(files[name]) if name in files else original for name in names]
        digest = sha256(
            json.dumps([[sha256(one.data) for one in prepared], names, choice and choice.by_class]).encode()
        )
        if digest in self._ids:
            return self._ids[digest]
        for change in original.changes:
            self._report.note(f"{path.name}: {change}")
        model_id = self._ids[digest] = self._new_id(path.stem)
        signature = original.signature
        metadata = signature.metadata
        self.entries[model_id] = {
            "name": path.name,
            "variants": [
                {
                    "name": name,
                    "parts": self._parts(one.data, model_id),
                    "bytes": len(one.data),
                    "sha256": sha256(one.data),
                    "format": weight_format(one.model),
                    "half": computes_in_half(one.model),
                    "backends": _backends(name, choice) if choice else list(placement.backends),
                    "error": _error(name, candidates, proofs, choice) if choice else None,
                    **self._node_errors(model_id, name, candidates),
                }
                for name, one in zip(names, prepared, strict=True)
            ],
            "inputs": _args(signature.inputs),
            "outputs": _args(signature.outputs),
            "overridable": _args(signature.overridable),
            "metadata": {name: getattr(metadata, name) for name in metadata.__slots__},
            "activations": activation_bytes(original.model, types)[0],
            "faults": {name: why for one in prepared for name, why in _faults(one.model).items()},
            "prefer": list(choice.prefer if choice else placement.prefer),
            "reason": choice.reason if choice else placement.reason,
            "choice": {device: names.index(name) for device, name in choice.by_class.items()} if choice else {},
            "proven": choice is not None,
            "references": [self._reference(model_id, number, pair) for number, pair in enumerate(references)],
        }
        return model_id

    def _reference(self, model_id: str, number: int, pair: tuple[Path, Path]) -> dict[str, str]:
        """Files that only a visitor's check fetches."""
        return {
            kind: self._tree.file(f"{model_id}-{kind}{number}.npz", file, f"verify:{model_id}")
            for kind, file in zip(("feeds", "outputs"), pair, strict=True)
        }

    def _node_errors(self, model_id: str, name: str, candidates: Sequence[Candidate]) -> dict[str, str]:
        """How far each node of a variant is from the original's, where that was measured, for the model panel.

        Returns: ``{"nodes": path}``, or nothing. The file is JSON, by node: ``snr_db``, null where equal, and
            ``float``: whether the search for a good variant left it in float.
        """
        errors = next((c.node_errors for c in candidates if c.name == name), ())
        if not errors:
            return {}
        table = {
            error.node: {
                "snr_db": round(error.snr_db, 2) if math.isfinite(error.snr_db) else None,
                "float": error.float_kept,
            }
            for error in errors
        }
        data = json.dumps(table, separators=(",", ":")).encode()
        return {"nodes": self._tree.file(f"{model_id}-nodes.json", data, f"verify:{model_id}")}

    def _new_id(self, stem: str) -> str:
        base = re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-") or "model"
        number = 1
        while (model_id := base if number == 1 else f"{base}-{number}") in self.entries:
            number += 1
        return model_id

    def _parts(self, data: bytes, model_id: str) -> list[str]:
        limit = min(self._tree.limit_bytes or PART_BYTES, PART_BYTES)
        group = f"model:{model_id}"
        if len(data) <= limit:
            return [self._tree.file(f"{model_id}.onnx", data, group)]
        pieces = (data[at : at + limit] for at in range(0, len(data), limit))
        return [self._tree.file(f"{model_id}.part{i}", piece, group) for i, piece in enumerate(pieces)]


def _backends(name: str, choice: Choice) -> list[str]:
    """Where a variant is right; Python, the last resort, may have the original unproven."""
    right = choice.right.get(name, ())
    return [*right, *(["python"] if choice.by_class.get("python") == name and "python" not in right else [])]


def _error(
    name: str, candidates: Sequence[Candidate], proofs: Sequence[Proof], choice: Choice
) -> dict[str, Any] | None:
    """How far a variant is from the original on the worst backend that it is offered on; JSON has no infinity."""
    offered = choice.right.get(name, ())
    found = [p.accuracy for p in proofs if p.variant == name and p.backend.partition("-")[0] in offered and p.accuracy]
    if not found:
        return None
    worst = min(found, key=lambda accuracy: accuracy.snr_db)
    native = next((c.accuracy for c in candidates if c.name == name), None)
    return {
        "samples": worst.samples,
        "max_abs": worst.max_abs,
        "snr_db": worst.snr_db if math.isfinite(worst.snr_db) else None,
        "cosine": worst.cosine,
        "top1": worst.top1,
        "metric": native.metric if native else None,
    }


def _args(args: tuple[NodeArg, ...]) -> list[dict[str, Any]]:
    return [{"name": arg.name, "type": arg.type, "shape": arg.shape} for arg in args]
