"""``build.py check MODEL``: will ONNX Runtime Web take this model, and if not, what to do."""

import json
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import onnx
from rich.console import Console
from rich.table import Table

from onnxlet.errors import BuildError
from onnxlet.model import Model

from .convert import MAX_IR, MAX_OPSET, Prepared, prepare
from .models import estimate_flop, infer_types, nodes, place, weight_bytes

__all__ = ["Checked", "Finding", "check", "print_checked", "to_json"]

CLOUDFLARE_LIMIT_BYTES = 24 * 2**20  # Cloudflare Pages takes files up to 25 MiB
# Domains whose operators ONNX Runtime Web has; others run in Python where the app registers them.
_KNOWN_DOMAINS = {"", "ai.onnx.ml", "com.microsoft", "ai.onnx.training", "ai.onnx.preview.training"}
_LEVELS = {"error": "red", "warning": "yellow", "note": "cyan"}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to know. ``level``: error (the page cannot run it), warning, note."""

    level: str
    text: str
    remedy: str


@dataclass(slots=True)
class Checked:
    """What is known of a model file."""

    path: str
    bytes: int
    ir_version: int = 0
    opsets: dict[str, int] = field(default_factory=dict)
    producer: str = ""
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    operators: dict[str, int] = field(default_factory=dict)
    weight_bytes: int = 0
    flop: int = 0
    prefer: list[str] = field(default_factory=list)
    reason: str = ""
    findings: list[Finding] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether the page can run it."""
        return all(finding.level != "error" for finding in self.findings)


def check(path: Path) -> Checked:
    """Look at a model in every way that needs no browser.

    Raises: BuildError: there is no such file. Everything else that is wrong with it is a finding.
    """
    if not path.is_file():
        raise BuildError(f"{path}: is not a file; give the path of an .onnx file")
    checked = Checked(str(path), path.stat().st_size)
    try:
        prepared = prepare(path)
    except BuildError as error:
        text, _, remedy = str(error).partition("; ")
        checked.findings.append(Finding("error", text, remedy))
        return checked
    _describe(checked, prepared)
    checked.findings += [Finding("note", change, "") for change in prepared.changes]
    checked.findings += _findings(prepared)
    return checked


def _describe(checked: Checked, prepared: Prepared) -> None:
    model, signature = prepared.model, prepared.signature
    types = infer_types(onnx.load_model_from_string(prepared.data))
    placement = place(model, types)
    checked.ir_version = model.ir_version
    checked.opsets = {domain or "ai.onnx": version for domain, version in model.opset_imports.items()}
    checked.producer = f"{model.producer_name} {model.producer_version}".strip()
    checked.inputs = [f"{arg.name}: {arg.type} {arg.shape}" for arg in signature.inputs]
    checked.outputs = [f"{arg.name}: {arg.type} {arg.shape}" for arg in signature.outputs]
    counts = Counter(f"{node.domain}::{node.op_type}" if node.domain else node.op_type for node in nodes(model))
    checked.operators = dict(counts.most_common())
    checked.weight_bytes = weight_bytes(model)
    checked.flop = estimate_flop(model, types)
    checked.prefer = list(placement.prefer)
    checked.reason = placement.reason


def _findings(prepared: Prepared) -> list[Finding]:
    model = prepared.model
    found = []
    proto = onnx.load_model_from_string(prepared.data)
    try:
        onnx.checker.check_model(proto)
    except Exception as error:  # ValidationError, which is no public class
        found.append(Finding("warning", f"onnx.checker: {_first_line(error)}", "export it again with a newer exporter"))
    try:
        onnx.shape_inference.infer_shapes(proto, strict_mode=True, data_prop=True)
    except Exception as error:  # InferenceError, which is no public class
        found.append(
            Finding("warning", f"shape inference: {_first_line(error)}", "compare declared shapes with what nodes give")
        )
    found += _foreign_operators(model)
    if len(prepared.data) > CLOUDFLARE_LIMIT_BYTES:
        found.append(
            Finding(
                "note",
                f"{len(prepared.data):,} bytes: some hosts limit a file to 25 MiB",
                "build with --host cloudflare, which cuts it into parts",
            )
        )
    return found


def _foreign_operators(model: Model) -> list[Finding]:
    local = {(f.domain, f.name) for f in model.functions}
    foreign = {
        f"{node.domain}::{node.op_type}"
        for node in nodes(model)
        if node.domain not in _KNOWN_DOMAINS and (node.domain, node.op_type) not in local
    }
    return [
        Finding(
            "warning",
            f"{name} is a custom operator, unknown to ONNX Runtime Web",
            f'write it in Python in the app: @onnxlet.op("{name.split("::")[1]}", domain="{name.split("::")[0]}")',
        )
        for name in sorted(foreign)
    ]


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


def print_checked(checked: Checked, console: Console) -> None:
    """The same for a person."""
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    rows: list[tuple[str, Any]] = [("file", f"{checked.path}  ({checked.bytes:,} bytes)")]
    if checked.ir_version:
        operators = ", ".join(f"{name} {count}" for name, count in list(checked.operators.items())[:8])
        more = len(checked.operators) - 8
        limits = {domain or "ai.onnx": version for domain, version in MAX_OPSET.items()}
        opsets = ", ".join(
            f"{d} {v} (web takes {limits[d]})" if d in limits else f"{d} {v}" for d, v in checked.opsets.items()
        )
        rows += [
            ("written by", checked.producer or "unknown"),
            ("version", f"IR {checked.ir_version} (web takes {MAX_IR}), {opsets}"),
            ("inputs", "\n".join(checked.inputs)),
            ("outputs", "\n".join(checked.outputs)),
            ("operators", operators + (f", and {more} more" if more > 0 else "")),
            ("weights", f"{checked.weight_bytes:,} bytes"),
            ("cost", f"about {checked.flop / 1e6:,.3g} MFLOP a run"),
            ("backend", checked.reason),
        ]
    for name, value in rows:
        table.add_row(f"[bold]{name}[/bold]", str(value).replace("[", "\\["))
    console.print(table)
    for finding in checked.findings:
        style = _LEVELS[finding.level]
        console.print(f"[{style}]{finding.level}[/{style}]: ", end="")
        console.print(finding.text + (f"; {finding.remedy}" if finding.remedy else ""), markup=False, soft_wrap=True)
    if checked.ok:
        console.print("[green]ok[/green]: the page can run it")


def to_json(checked: list[Checked]) -> str:
    """The same for a program: a list."""
    return json.dumps([asdict(one) | {"ok": one.ok} for one in checked], indent=1, ensure_ascii=False)
