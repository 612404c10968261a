"""Which nodes must be left out so that a variant is within its budget: the fewest that a short search finds.

Each suspect is changed alone, and the noise in the outputs tells how much it costs. Then the worst are left out, as
many as it takes: halving finds the number in a few evaluations. The time is one short run for each suspect, and all
samples for each evaluation.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

from ..executors import cargo, spread
from ..progress import Reporter
from .evaluate import References, damage
from .graphs import Graph
from .ranges import Ranges

__all__ = ["Found", "search", "suspects"]

# Suspects are judged on few samples: they only have to be put in order.
_JUDGE_SAMPLES = 4
# A model with more nodes is searched in groups of neighbours, each changed as one.
_MOST_SUSPECTS = 64
# With more than this share left out, little of the variant remains.
_MOST = 0.5
# They move or bend what others compute, and have no error of their own worth a run.
_FOLLOWERS = {"Relu", "Clip", "Reshape", "Transpose", "Flatten", "Squeeze", "Unsqueeze", "Slice", "Split", "MaxPool"}
_FOLLOWERS |= {"Identity", "Cast", "Concat", "DepthToSpace"}


@dataclass(frozen=True, slots=True)
class Found:
    """What a search came to.

    Args:
        nodes: names of those that are left out, worst first.
        refused: why no choice is within the budget; "" where this one is.
        evaluations: how many variants were tried on all samples.
    """

    nodes: tuple[str, ...]
    refused: str
    evaluations: int


def suspects(graph: Graph, targets: Sequence[str]) -> list[list[str]]:
    """The nodes worth a look, in groups where they are many."""
    kinds = {node.name: node.op_type for node in graph.nodes}
    alone = [name for name in targets if kinds[name] not in _FOLLOWERS]
    size = -(-len(alone) // _MOST_SUSPECTS) or 1
    return [alone[start : start + size] for start in range(0, len(alone), size)]


def search(
    model: Path,
    recipe: str,
    groups: Sequence[Sequence[str]],
    ranges: Ranges,
    against: References,
    over_budget: Callable[[frozenset[str]], str],
    executor: Executor,
    report: Reporter,
) -> Found:
    """Find the nodes that a recipe must leave out.

    Args:
        model: what `graphs.prepare` gave.
        groups: the suspects.
        against: samples to judge the suspects on; the first few are used.
        over_budget: evaluates the variant without these nodes; says why it is refused, "" where it is not.
    """
    few = against.first(_JUDGE_SAMPLES)
    (pair,) = few.jobs(executor)
    base = cargo(model, executor)
    jobs = ((base, recipe, list(group), ranges, few.names, *pair) for group in groups)
    with report.bar(f"{recipe}: looking for the nodes that suffer", len(groups)) as advance:
        costs = list(spread(executor, damage, jobs, advance))
    worst = sorted(range(len(groups)), key=lambda index: (-costs[index], index))

    def without(count: int) -> tuple[str, ...]:
        return tuple(name for index in worst[:count] for name in groups[index])

    tried: dict[int, str] = {}

    def reason(count: int) -> str:
        if count not in tried:
            tried[count] = over_budget(frozenset(without(count)))
        return tried[count]

    low, high = 0, 1  # `low` is known to be too few
    most = max(1, int(len(groups) * _MOST))
    with report.step(f"{recipe}: leaving out the worst nodes"):
        while reason(high):
            if high == most:
                return Found((), f"{reason(high)}, even without {len(without(high))} of the nodes", len(tried))
            low, high = high, min(2 * high, most)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if reason(middle) else (low, middle)
    return Found(without(high), "", len(tried))
