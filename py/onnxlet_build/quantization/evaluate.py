"""How near a variant is to the original: its outputs on all samples, and each node's on a few. In the workers."""

import math
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from onnxlet.accuracy import comparable
from onnxlet.dtypes import Array

from ..accuracy import Measure
from ..executors import Cargo, cargo, spread
from ..progress import Reporter
from ..samples import Feeds, Samples, save_feeds
from ..variants import NodeError
from .calibrate import CHUNK, float_values, with_outputs
from .graphs import Graph
from .native import Native, content, opened, read_sample
from .ranges import Ranges
from .recipes import RECIPES

__all__ = ["References", "damage", "measure", "node_errors", "references", "variant"]

# Samples on which nodes are compared one by one.
_NODE_SAMPLES = 4


@dataclass(frozen=True, slots=True)
class References:
    """Samples and what the original answers to them.

    Args:
        names: of the outputs.
        outputs: one .npz for each sample, arrays by the output's name.
    """

    names: tuple[str, ...]
    samples: Samples
    outputs: Samples

    def first(self, count: int) -> "References":
        """The same with fewer samples."""
        return References(self.names, self.samples[:count], self.outputs[:count])

    def jobs(self, executor: Executor) -> Iterator[tuple[list[Cargo], list[Cargo]]]:
        """The samples and their outputs in chunks, on their way to workers."""
        pairs = list(zip(self.samples.paths, self.outputs.paths, strict=True))
        for start in range(0, len(pairs), CHUNK):
            chunk = pairs[start : start + CHUNK]
            yield [cargo(a, executor) for a, _ in chunk], [cargo(b, executor) for _, b in chunk]


def references(model: Path, samples: Samples, folder: Path, executor: Executor, report: Reporter) -> References:
    """Run the original on the samples.

    Args:
        folder: where the outputs are written.
    Raises: BuildError: a sample does not fit the model, or it does not run.
    """
    folder.mkdir()
    names: tuple[str, ...] = ()
    written: list[Path] = []
    with report.bar("running the original", -(-len(samples) // CHUNK)) as advance:
        jobs = _chunks(cargo(model, executor), samples, executor)
        for found, outputs in spread(executor, outputs_of, jobs, advance):
            names = found
            for feeds in outputs:
                written.append(folder / f"{len(written):06}.npz")
                save_feeds(written[-1], feeds, "the original's outputs")
    return References(names, samples, Samples(written))


def _chunks(model: Cargo, samples: Samples, executor: Executor) -> Iterator[tuple[Cargo, int, list[Cargo]]]:
    for start in range(0, len(samples), CHUNK):
        yield model, start, [cargo(path, executor) for path in samples.paths[start : start + CHUNK]]


def outputs_of(model: Cargo, start: int, samples: Sequence[Cargo]) -> tuple[tuple[str, ...], list[Feeds]]:
    """In a worker: a model's outputs on a few samples, by name, as `comparable` arrays."""
    session = opened(model)
    found = []
    for number, sample in enumerate(samples, start):
        values = session.run(session.feeds(read_sample(sample), f"evaluation sample {number}"))
        found.append({name: comparable(value) for name, value in zip(session.outputs, values, strict=True)})
    return tuple(session.outputs), found


def measure(path: Path, against: References, executor: Executor) -> Measure:
    """Compare a variant with the original on all samples.

    Raises: Unfit: native ONNX Runtime does not take it, or it fails.
    """
    whole = Measure(against.names)
    model = cargo(path, executor)
    jobs = ((model, against.names, *pair) for pair in against.jobs(executor))
    for part in spread(executor, measure_of, jobs, lambda _n: None):
        whole.merge(part)
    return whole


def measure_of(model: Cargo, names: Sequence[str], samples: Sequence[Cargo], outputs: Sequence[Cargo]) -> Measure:
    """In a worker: a variant against the original's outputs on a few samples."""
    return _compare(opened(model), names, samples, outputs)


def _compare(session: Native, names: Sequence[str], samples: Sequence[Cargo], outputs: Sequence[Cargo]) -> Measure:
    part = Measure(names)
    for sample, output in zip(samples, outputs, strict=True):
        expected = read_sample(output)
        got = session.run(session.feeds(read_sample(sample), "sample"), names)
        part.add([expected[name] for name in names], got)
    return part


def variant(data: bytes, recipe: str, nodes: Collection[str], ranges: Ranges, *, measured: bool = False) -> bytes:
    """A model with a recipe applied to some nodes.

    Args:
        data: what `graphs.prepare` gave.
        measured: the form in which its accuracy is measured natively.
    """
    graph = Graph(data)
    known = RECIPES[recipe]
    rest = set(known.targets(graph, ranges)).difference(nodes) if known.instead else set()
    (known.measured if measured and known.measured else known.change)(graph, nodes, ranges)
    if known.instead and rest:
        known.instead(graph, rest, ranges)
    if known.others:
        known.others(graph, [node.name for node in graph.nodes if node.name not in rest.union(nodes)], ranges)
    return graph.finish()


@lru_cache(maxsize=2)
def _prepared(model: Cargo) -> bytes:
    return content(model)


def damage(
    model: Cargo,
    recipe: str,
    nodes: Sequence[str],
    ranges: Ranges,
    names: Sequence[str],
    samples: Sequence[Cargo],
    outputs: Sequence[Cargo],
) -> float:
    """In a worker: the noise that a recipe brings into the outputs by changing these nodes alone.

    Returns: noise / signal of the worst output; inf where it is wrong altogether.
    """
    data = variant(_prepared(model), recipe, nodes, ranges, measured=True)
    found = _compare(Native(data), names, samples, outputs).result()
    return math.inf if found.fault else 10 ** (-found.snr_db / 10)


def node_errors(
    model: Path, changed: Path, float_nodes: Collection[str], samples: Samples, executor: Executor
) -> tuple[NodeError, ...]:
    """Compare every node whose output both models have, without fusions.

    Args:
        model: what `graphs.prepare` gave.
        changed: a variant of it.
    """
    chosen = [cargo(path, executor) for path in samples.paths[:_NODE_SAMPLES]]
    jobs = ((cargo(model, executor), cargo(changed, executor), [sample]) for sample in chosen)
    sums: dict[str, tuple[float, float]] = {}
    for part in spread(executor, noise_of, jobs, lambda _n: None):
        for name, (signal, noise) in part.items():
            before = sums.get(name, (0.0, 0.0))
            sums[name] = before[0] + signal, before[1] + noise
    graph = Graph(model.read_bytes())
    rows = []
    for node in graph.nodes:
        output = next((name for name in node.output if name in sums), "")
        if output:
            rows.append(NodeError(node.name, node.op_type, _decibels(*sums[output]), node.name in float_nodes))
    return tuple(rows)


def noise_of(model: Cargo, changed: Cargo, samples: Sequence[Cargo]) -> dict[str, tuple[float, float]]:
    """In a worker: signal and noise power of each value that both models have."""
    data, other = content(model), content(changed)
    graph = Graph(data)
    made = {name for node in Graph(other).nodes for name in node.output}
    names = [name for name in float_values(graph) if name in made and name not in graph.inputs]
    sessions = [Native(with_outputs(side, names), plain=True) for side in (data, other)]
    sums = dict.fromkeys(names, (0.0, 0.0))
    for sample in samples:
        sides = [session.run(session.feeds(read_sample(sample), "sample"), names) for session in sessions]
        for name, a, b in zip(names, *sides, strict=True):
            signal, noise = _powers(a, b)
            sums[name] = sums[name][0] + signal, sums[name][1] + noise
    return sums


def _powers(expected: Array, got: Array) -> tuple[float, float]:
    if expected.shape != got.shape:
        return 0.0, math.inf
    a, b = expected.astype(np.float64), got.astype(np.float64)
    finite = np.isfinite(a)
    return float(np.sum(a[finite] ** 2)), float(np.sum(np.where(np.isfinite(b), a - b, np.inf)[finite] ** 2))


def _decibels(signal: float, noise: float) -> float:
    if not noise:
        return math.inf
    return 10 * math.log10(signal / noise) if signal and math.isfinite(noise) else -math.inf
