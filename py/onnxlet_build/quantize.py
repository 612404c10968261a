"""From an optimized float32 model to smaller variants: each recipe gives a file that is within the budget, or a reason.

Accuracy is that of native ONNX Runtime on the evaluation samples, against the original; whether a variant is right in a
browser is `parity`'s to say. Files appear whole: they are written under another name and renamed.
"""

import math
import shutil
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import onnx

from onnxlet import protobuf
from onnxlet.errors import BuildError

from .accuracy import Accuracy, Budget
from .formats import weight_format
from .paths import scratch, write_whole
from .progress import Reporter
from .quantization.calibrate import calibrate
from .quantization.evaluate import References, measure, node_errors, references, variant
from .quantization.graphs import Graph, prepare
from .quantization.histogram import METHODS, Histogram
from .quantization.native import Unfit
from .quantization.ranges import Ranges
from .quantization.recipes import RECIPES, Recipe
from .quantization.sensitivity import search, suspects
from .samples import Samples
from .variants import Candidate

__all__ = ["RECIPES", "quantize"]

# Calibration methods and suspects are judged on these; what ships is measured on all evaluation samples.
_JUDGE_SAMPLES = 32
# The prepared model, one with outputs for calibration, a variant being measured, and the files that stay.
_ROOM = 4

_INTEGER = {
    "QuantizeLinear",
    "DequantizeLinear",
    "DynamicQuantizeLinear",
    "MatMulInteger",
    "ConvInteger",
    "MatMulNBits",
}
_INTEGER |= {"MatMulBnb4", "GatherBlockQuantized", "QGemm", "QAttention"}
_SMALL = {"fp16", "bfloat16", "int8", "int4", "uint4"}
_INTEGER_PREFIXES = ("QLinear", "DynamicQuantize")

Score = Callable[[Path], float]


def quantize(
    data: bytes,
    calibration: Samples,
    evaluation: Samples,
    budget: Budget,
    folder: Path,
    executor: Executor,
    report: Reporter,
    *,
    wanted: Sequence[str] | None = None,
    method: str | None = None,
    score: Score | None = None,
    original: Path | None = None,
) -> list[Candidate]:
    """Make every variant that is smaller and near enough to the original.

    Args:
        data: the optimized model.
        calibration: to find the ranges of values; evaluation: to measure accuracy, other samples where there are any.
        folder: where a recipe's file is written, ``int8-static.onnx``; made if need be.
        executor: see `executors.open_executor`. Results do not depend on how many workers it has.
        wanted: names of recipes; None for all of them.
        method: of calibration, one of "minmax", "percentile", "entropy"; None for the best one.
        score: the person's metric of a model file, higher is better.
        original: what variants are compared with; None for `data` itself.
    Returns: a candidate for each recipe.
    Raises: BuildError: a sample does not fit the model or has NaN, there is none, the disk is full, or there is no such
        recipe.
    """
    recipes = [RECIPES[name] for name in _known("recipe", wanted, RECIPES)]
    methods = _known("calibration method", None if method is None else [method], METHODS)
    if reason := _ready(data):
        return [Candidate(recipe.name, None, refused=reason) for recipe in recipes]
    folder.mkdir(parents=True, exist_ok=True)
    _check_disk(folder, len(data))
    try:
        prepared = prepare(data)
    except BuildError as error:  # its own operators, for one: then nothing can be measured here
        return [Candidate(recipe.name, None, refused=str(error)) for recipe in recipes]
    if not len(evaluation):
        raise BuildError("no sample to measure accuracy on; give the app an example, or model.py a calibration()")
    with scratch(folder) as work:
        for name, content in (("prepared", prepared), ("given", data)):
            write_whole(work / f"{name}.onnx", content)
        run = _Run(data, work, original or work / "given.onnx", calibration, evaluation, budget, executor, report)
        run.methods, run.score = methods, score
        return [_candidate(run, recipe, folder / f"{recipe.name}.onnx") for recipe in recipes]


def _known(what: str, given: Sequence[str] | None, known: Collection[str]) -> list[str]:
    for name in given or ():
        if name not in known:
            raise BuildError(f"{what} {name!r}: there is no such one; expected one of {', '.join(known)}")
    return list(known if given is None else given)


def _ready(data: bytes) -> str:
    """Why a model is left as it is; "" where there is something to do."""
    found = Counter(
        node.op_type
        for node in onnx.load_model_from_string(data).graph.node
        if node.op_type in _INTEGER or node.op_type.startswith(_INTEGER_PREFIXES)
    )
    if found:
        op_type, count = found.most_common(1)[0]
        return f"it is quantized already ({count} {op_type}): it ships as it came"
    kind = weight_format(protobuf.load(data))
    return f"most of its weights are {kind} already: it ships as it came" if kind in _SMALL else ""


def _check_disk(folder: Path, size: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < _ROOM * size:
        raise BuildError(
            f"{folder}: {free / 1e6:,.0f} MB are free on this disk, expected {_ROOM * size / 1e6:,.0f} MB to quantize "
            f"a model of {size / 1e6:,.0f} MB; free some, or choose another --out"
        )


@dataclass
class _Run:
    """One model being quantized, and what its recipes share: computed when the first of them asks."""

    data: bytes
    work: Path
    original: Path
    calibration: Samples
    evaluation: Samples
    budget: Budget
    executor: Executor
    report: Reporter
    methods: Sequence[str] = METHODS
    score: Score | None = None
    _written: int = field(default=0, init=False)

    @cached_property
    def prepared(self) -> Path:
        return self.work / "prepared.onnx"

    @cached_property
    def base(self) -> bytes:
        return self.prepared.read_bytes()

    def graph(self) -> Graph:
        return Graph(self.base)

    @cached_property
    def expected(self) -> References:
        """The original's answers to the evaluation samples."""
        return references(self.original, self.evaluation, self.work / "evaluation", self.executor, self.report)

    @cached_property
    def judged(self) -> References:
        """The original's answers to the first calibration samples: what decides must not be what was tuned on."""
        few = self.calibration[:_JUDGE_SAMPLES]
        if not len(few) or few.paths == self.evaluation.paths[:_JUDGE_SAMPLES]:
            return self.expected.first(_JUDGE_SAMPLES)
        return references(self.original, few, self.work / "judged", self.executor, self.report)

    @cached_property
    def histograms(self) -> dict[str, Histogram]:
        graph = self.graph()
        changed = set(RECIPES["int8-static"].targets(graph, {}))
        counted = {name for n in graph.nodes if n.name in changed for name in (*n.input, *n.output)}
        return calibrate(self.prepared, self.calibration, counted, self.executor, self.report)

    def ranges(self, method: str) -> Ranges:
        return {name: histogram.range(method) for name, histogram in self.histograms.items()}

    @cached_property
    def original_metric(self) -> float | None:
        return self.score(self.original) if self.score else None

    def write(self, recipe: Recipe, nodes: Collection[str], ranges: Ranges) -> Path:
        """The form of a variant that is measured. Its name is new: workers keep sessions by name."""
        self._written += 1
        path = self.work / f"{recipe.name}-{self._written}.onnx"
        write_whole(path, variant(self.base, recipe.name, nodes, ranges, measured=True))
        return path

    def accuracy(self, recipe: Recipe, nodes: Collection[str], ranges: Ranges) -> Accuracy:
        """On the evaluation samples, the person's metric included."""
        path = self.write(recipe, nodes, ranges)
        try:
            measured = measure(path, self.expected, self.executor)
            return measured.result(self.score(path) if self.score else None)
        finally:
            path.unlink()

    def refuses(self, accuracy: Accuracy) -> str:
        return self.budget.refuses(accuracy, self.original_metric)


def _candidate(run: _Run, recipe: Recipe, target: Path) -> Candidate:
    """A recipe's variant, or why there is none."""
    empty = Candidate(recipe.name, None)
    if not recipe.targets(run.graph(), {}):
        return replace(empty, refused=f"nothing to do: the model has {recipe.needs}")
    with run.report.step(f"quantizing: {recipe.name}"):
        try:
            return _made(run, recipe, target, empty)
        except _Refused as refused:
            return replace(refused.candidate, refused=str(refused))
        except Unfit as error:
            target.unlink(missing_ok=True)
            return replace(empty, refused=str(error))


class _Refused(Exception):
    """A recipe gives nothing that can ship; ends its work."""

    def __init__(self, candidate: Candidate, reason: str) -> None:
        super().__init__(reason)
        self.candidate = candidate


def _made(run: _Run, recipe: Recipe, target: Path, empty: Candidate) -> Candidate:
    steps = [recipe.says]
    ranges: Ranges = {}
    graph = run.graph()
    kinds = {node.name: node.op_type for node in graph.nodes}
    if recipe.calibrated:
        ranges = _ranges(run, recipe, steps)
    elif recipe.name != "fp16-storage" and "Conv" in {kinds[name] for name in recipe.targets(graph, {})}:
        ranges = run.ranges("minmax")
        steps.append("biases of convolutions corrected for what rounding the weights adds to the means")
    nodes = recipe.targets(graph, ranges)
    if wide := len(recipe.targets(graph, {})) - len(nodes):
        steps.append(f"{wide} nodes stay in float32: their values do not fit, on the calibration samples")
    if not nodes:
        raise _Refused(empty, "no node's values fit: " + steps[-1])
    if reason := _useless(run.data, variant(run.base, recipe.name, nodes, ranges)):
        raise _Refused(empty, reason)
    seen: dict[frozenset[str], Accuracy] = {}

    def over_budget(without: frozenset[str]) -> str:
        seen[without] = run.accuracy(recipe, [name for name in nodes if name not in without], ranges)
        return run.refuses(seen[without])

    left: tuple[str, ...] = ()
    if reason := over_budget(frozenset()):
        groups = suspects(graph, nodes)
        found = search(run.prepared, recipe.name, groups, ranges, run.judged, over_budget, run.executor, run.report)
        if found.refused:
            raise _Refused(replace(empty, accuracy=seen[frozenset()], steps=tuple(steps)), f"{reason}; {found.refused}")
        left = found.nodes
        steps.append(
            f"{len(found.nodes)} of {len(nodes)} nodes {recipe.left} (found in {found.evaluations} evaluations; with "
            f"none, {reason}): {', '.join(found.nodes)}"
        )
    accuracy = seen[frozenset(left)]
    final = variant(run.base, recipe.name, [name for name in nodes if name not in set(left)], ranges)
    if reason := _useless(run.data, final):
        raise _Refused(replace(empty, accuracy=accuracy), reason)
    steps.append(f"{len(final):,} bytes, {len(run.data) / len(final):.2f} times smaller")
    write_whole(target, final)
    float_nodes = () if recipe.instead else left
    return _checked(
        run, Candidate(recipe.name, target, _format(recipe, final), len(final), tuple(steps), float_nodes, accuracy)
    )


def _checked(run: _Run, made: Candidate) -> Candidate:
    """The file itself must run natively; then its nodes are compared."""
    assert made.path is not None
    if fault := measure(made.path, run.expected.first(1), run.executor).result().fault:
        made.path.unlink()
        raise _Refused(replace(made, path=None), fault)
    return replace(
        made, node_errors=node_errors(run.prepared, made.path, made.float_nodes, run.evaluation, run.executor)
    )


def _ranges(run: _Run, recipe: Recipe, steps: list[str]) -> Ranges:
    """The ranges of values; where they bound what 8 bits cover, those of the best calibration method."""
    if recipe.name != "int8-static":
        return run.ranges("minmax")
    best: tuple[float, str, Ranges] | None = None
    tried = []
    for method in run.methods:
        ranges = run.ranges(method)
        path = run.write(recipe, recipe.targets(run.graph(), ranges), ranges)
        found = measure(path, run.judged, run.executor).result()
        path.unlink()
        snr = -math.inf if found.fault else found.snr_db
        tried.append(f"{method} {snr:.1f} dB")
        if best is None or snr > best[0]:
            best = snr, method, ranges
    assert best is not None
    steps.append(f"ranges by {best[1]} over {len(run.calibration)} samples ({', '.join(tried)})")
    return best[2]


def _useless(before: bytes, after: bytes) -> str:
    """Why a variant is none; "" where it is smaller and something changed."""
    if _inventory(before) == _inventory(after):
        return "nothing changed: the same operators and the same types of weights as before"
    if len(after) >= len(before):
        return f"not smaller: {len(after):,} bytes, {len(before):,} before"
    return ""


def _inventory(data: bytes) -> tuple[Counter[str], Counter[int]]:
    graph = onnx.load_model_from_string(data).graph
    return Counter(node.op_type for node in graph.node), Counter(tensor.data_type for tensor in graph.initializer)


def _format(recipe: Recipe, data: bytes) -> str:
    """Two integers of 4 bits are stored as one of 8."""
    found = weight_format(protobuf.load(data))
    return "int4" if recipe.name == "int4-weights" and found == "int8" else found
