"""The ranges of a model's values on the calibration samples: in the workers, one sample at a time.

Memory does not grow with the number of samples: a worker holds the values of one, and gives back histograms.
"""

import math
from collections.abc import Iterator, Mapping, Sequence, Set
from concurrent.futures import Executor
from pathlib import Path

import numpy as np
import onnx
from onnx import ValueInfoProto

from onnxlet.errors import BuildError

from ..executors import Cargo, cargo, spread
from ..paths import scratch, write_whole
from ..progress import Reporter
from ..samples import Samples
from .graphs import Graph
from .histogram import Histogram
from .native import opened, read_sample

__all__ = ["CHUNK", "calibrate", "float_values", "with_outputs"]

# Samples of a job: their number decides in what order sums are made, so it does not depend on the workers.
CHUNK = 8
# Values that are fetched in one run; a model with more is run several times for each sample.
_AT_ONCE_BYTES = 256 << 20


def calibrate(
    model: Path, samples: Samples, counted: Set[str], executor: Executor, report: Reporter
) -> dict[str, Histogram]:
    """Run the samples and gather what each float32 value was.

    Args:
        model: what `graphs.prepare` gave.
        counted: names of the values whose distribution is wanted; of all others only the bounds.
    Returns: by the value's name, inputs included.
    Raises: BuildError: a sample does not fit the model, or holds NaN; there is none.
    """
    if not len(samples):
        raise BuildError("no calibration sample; give the app an example, or model.py a calibration()")
    groups = _groups(model, samples)
    found: dict[str, Histogram] = {}
    with scratch(model.parent) as folder:
        files = []
        for number, names in enumerate(groups):
            files.append(folder / f"values-{number}.onnx")
            write_whole(files[-1], with_outputs(model.read_bytes(), names))
        starts = range(0, len(samples), CHUNK)
        total = len(starts) * len(files)
        with report.bar(f"calibrating on {len(samples)} samples", total) as advance:
            for part in spread(executor, ranges_of, _jobs(files, groups, samples, counted, executor), advance):
                for name, histogram in part.items():
                    if name in found:
                        found[name].merge(histogram)
                    else:
                        found[name] = histogram
    return found


def _jobs(
    files: Sequence[Path], groups: Sequence[list[str]], samples: Samples, counted: Set[str], executor: Executor
) -> Iterator[tuple[Cargo, list[str], Set[str], int, list[Cargo]]]:
    for file, names in zip(files, groups, strict=True):
        model = cargo(file, executor)
        for start in range(0, len(samples), CHUNK):
            chunk = [cargo(path, executor) for path in samples.paths[start : start + CHUNK]]
            yield model, names, counted & set(names), start, chunk


def ranges_of(
    model: Cargo, names: Sequence[str], counted: Set[str], start: int, samples: Sequence[Cargo]
) -> dict[str, Histogram]:
    """In a worker: the ranges over a few samples.

    Args:
        names: outputs and inputs of the model.
        start: number of the first sample, for messages.
    """
    session = opened(model)
    found = {name: Histogram() if name in counted else Histogram(counts=None) for name in names}
    fetched = [name for name in names if name in session.outputs]
    for number, sample in enumerate(samples, start):
        where = f"calibration sample {number}"
        feeds = session.feeds(read_sample(sample), where)
        for name, value in feeds.items():
            if isinstance(value, np.ndarray) and value.dtype.kind == "f" and np.isnan(value).any():
                raise BuildError(
                    f'{where}: input "{name}" has {int(np.isnan(value).sum())} NaN of {value.size} values, '
                    "expected numbers; leave the sample out of calibration(), or fill its gaps as the app does"
                )
        values = {**feeds, **dict(zip(fetched, session.run(feeds, fetched), strict=True))}
        for name in names:
            if name in values:  # an input with a default value may be left out
                found[name].add(values[name])
    return found


def float_values(graph: Graph) -> list[str]:
    """Names of the float32 inputs and of what nodes compute in float32."""
    made = (name for node in graph.nodes for name in node.output)
    return [name for name in dict.fromkeys((*graph.inputs, *made)) if name and graph.is_float(name)]


def with_outputs(data: bytes, names: Sequence[str]) -> bytes:
    """A model that gives these values as well."""
    proto = onnx.load_model_from_string(data)
    there = {value.name for value in (*proto.graph.output, *proto.graph.input)}
    proto.graph.output.extend(ValueInfoProto(name=name) for name in names if name not in there)
    return proto.SerializeToString()


def _groups(model: Path, samples: Samples) -> list[list[str]]:
    """The float32 values in groups that fit into memory together, by their shapes for the first sample."""
    graph = Graph(model.read_bytes())
    sizes = _symbols(graph, read_sample(samples.paths[0]))
    groups: list[list[str]] = [[]]
    room = _AT_ONCE_BYTES
    for name in float_values(graph):
        shape = graph.shapes.get(name, ())
        size = 4 * math.prod(d if isinstance(d, int) else sizes.get(str(d), 1) for d in shape)
        if size > room and groups[-1]:
            groups.append([])
            room = _AT_ONCE_BYTES
        groups[-1].append(name)
        room -= size
    return groups


def _symbols(graph: Graph, feeds: Mapping[str, np.ndarray]) -> dict[str, int]:
    """Sizes of symbolic dimensions."""
    return {
        dim: size
        for name, value in feeds.items()
        for dim, size in zip(graph.shapes.get(name, ()), value.shape, strict=False)
        if isinstance(dim, str)
    }
