"""Charts as SVG without scripts. Places along the width are percent, so that letters keep their size on any screen."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..variants import NodeError
from . import numbers
from .markup import Markup, el, shortened

__all__ = ["Mark", "bar", "node_errors", "share", "size_error"]

# The plot's edges: percent of the width, pixels of the height.
LEFT, RIGHT = 16.0, 97.0
_LETTER = 6.8  # pixels, of the charts' type
_AS_GOOD_DB = 90.0  # over this only rounding differs: such variants need no scale, which would crowd the others
_LINE = 14
_NARROW = 250  # pixels that the plot has on a phone: labels that keep apart there do so everywhere


@dataclass(frozen=True, slots=True)
class Mark:
    """One variant in the chart of sizes and errors. ``kind``: chosen, right or refused."""

    name: str
    bytes: int
    snr_db: float
    kind: str


def size_error(marks: Sequence[Mark]) -> Markup:
    """Size along the width, signal-to-noise ratio upwards: the best variants are at the upper left."""
    top, bottom, height = 56, 300, 352
    scaled = [mark.snr_db for mark in marks if math.isfinite(mark.snr_db) and mark.snr_db < _AS_GOOD_DB]
    low = min(0, 10 * math.floor(min(scaled, default=0) / 10))
    high = max(40, 20 * math.ceil((max(scaled, default=0) + 1) / 20))
    step = 10 if high - low <= 60 else 20 * math.ceil((high - low) / 120)
    unit, name = _unit(max((mark.bytes for mark in marks), default=1))
    ticks = _ticks(max((mark.bytes for mark in marks), default=1) / unit)

    def x(count_bytes: float) -> float:
        return LEFT + (RIGHT - LEFT) * 0.94 * count_bytes / unit / ticks[-1]

    def y(snr_db: float) -> float:
        if snr_db > high:
            return top - 28  # a line of its own above the scale
        return bottom - (bottom - top) * (snr_db - low if math.isfinite(snr_db) else 0) / (high - low)

    levels = [(y(db), f"{db} dB") for db in range(low, high + 1, step)] + [(y(math.inf), f"{high}+ dB")]
    grid = [_level(at, text) for at, text in levels]
    grid += [_below(x(tick * unit), bottom + 20, f"{tick:g}") for tick in ticks]
    grid.append(_below((LEFT + RIGHT) / 2, bottom + 42, f"size of the file, {name}"))
    places = [(x(mark.bytes), y(mark.snr_db)) for mark in marks]
    pairs = sorted(zip(marks, places, strict=True), key=lambda pair: pair[0].kind == "chosen")  # above the others
    drawn = [_point(mark, *place) for mark, place in pairs]
    words = "; ".join(
        f"{mark.name}: {numbers.size(mark.bytes)}, {numbers.decibels(mark.snr_db)}, {mark.kind}" for mark in marks
    )
    title = "Size of each variant against its error"
    return _chart(title, words, height, grid, drawn, _labels(marks, places))


def _unit(largest: int) -> tuple[int, str]:
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if largest >= unit:
            return unit, name
    return 1, "bytes"


def _ticks(largest: float) -> list[float]:
    """From 0 past `largest` in four steps or so, each 1, 2 or 5 times a power of ten."""
    rough = max(largest, 1e-9) / 4
    power = 10 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)
    return [step * i for i in range(math.ceil(largest / step - 1e-9) + 1)]


def _point(mark: Mark, x: float, y: float) -> Markup:
    about = el("title", f"{mark.name}: {numbers.size(mark.bytes)}, {numbers.decibels(mark.snr_db)}, {mark.kind}")
    place = {"cx": f"{x:.2f}%", "cy": f"{y:.1f}"}
    halo = el("circle", **place, r=10, class_="halo") if mark.kind == "chosen" else None
    return el("g", about, halo, el("circle", **place, r=5.5, class_=f"mark {mark.kind}"))


def _labels(marks: Sequence[Mark], places: Sequence[tuple[float, float]]) -> list[Markup]:
    """Names beside their points, wherever they cover nothing; the chosen ones choose first, some get none."""
    scale = _NARROW / (RIGHT - LEFT)
    taken = [(x * scale - 8, y - 8, x * scale + 8, y + 8) for x, y in places]
    order = sorted(range(len(marks)), key=lambda i: (marks[i].kind != "chosen", marks[i].kind == "refused", i))
    texts = []
    for i in order:
        text, (x, y) = shortened(marks[i].name, 20), places[i]
        width = len(text) * _LETTER + 4
        for shift, side in ((d, s) for d in (0, -_LINE, _LINE, -2 * _LINE, 2 * _LINE, 3 * _LINE) for s in (1, -1)):
            start = x * scale + 13 if side > 0 else x * scale - 13 - width
            box = (start, y + shift - 7, start + width, y + shift + 6)
            inside = box[0] >= LEFT * scale and box[2] <= 100 * scale and box[1] >= 2
            if inside and not any(_overlap(box, other) for other in taken):
                taken.append(box)
                anchor = "start" if side > 0 else "end"
                style = "label strong" if marks[i].kind == "chosen" else "label"
                at = {"x": f"{x:.2f}%", "dx": f"{13 * side}", "y": f"{y + shift + 4:.1f}"}
                texts.append(el("text", text, **at, text_anchor=anchor, class_=style))
                break
    return texts


def _overlap(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def node_errors(errors: Sequence[NodeError], name: str) -> Markup:
    """Noise of every node's output along the graph: the taller, the farther from the original; floats are marked."""
    top, bottom, height = 16, 216, 272
    finite = [e.snr_db for e in errors if math.isfinite(e.snr_db)]
    quiet = min(120, 20 * math.ceil((max(finite, default=20) + 1) / 20))
    loud = max(-20, 20 * math.floor(min([19.0, *finite]) / 20))
    step = max(20, 20 * math.ceil((quiet - loud) / 100))

    def tall(snr_db: float) -> float:
        """Share of the plot's height."""
        if snr_db == math.inf:
            return 0.0
        return min(1.0, max(0.0, (quiet - snr_db) / (quiet - loud))) if math.isfinite(snr_db) else 1.0

    levels = range(quiet, loud - 1, -step)
    grid = [_level(bottom - (bottom - top) * tall(db), f"{db} dB") for db in levels]
    quantized: list[str] = []
    kept: list[str] = []
    ticks: list[str] = []
    for i, one in enumerate(errors):
        stem = f"M{i + 0.5:g} 100V{100 - 100 * tall(one.snr_db):.1f}"
        (kept if one.float_kept else quantized).append(stem)
        if one.float_kept:
            ticks.append(f"M{i + 0.5:g} 0V100")
    # Pixels: as wide as there is room on a phone, so that 1000 nodes are a silhouette and 10 are bars.
    wide = f"{min(14, max(1.5, 0.62 * _NARROW / max(1, len(errors)))):.1f}"
    plot = _stretched(
        len(errors), top, bottom - top, wide, (("".join(quantized), "stem"), ("".join(kept), "stem kept"))
    )
    below = _stretched(len(errors), bottom + 4, 8, wide, (("".join(ticks), "stem kept"),))
    words = (
        el("text", "first node", x=f"{LEFT}%", y=bottom + 32, class_="label"),
        el("text", f"last of {len(errors):,}", x=f"{RIGHT}%", y=bottom + 32, text_anchor="end", class_="label"),
    )
    worst = min(errors, key=lambda e: e.snr_db if not math.isnan(e.snr_db) else -math.inf, default=None)
    said = f"{len(errors)} nodes, {len(ticks)} of them kept in float"
    said += f"; the worst is {worst.node} ({worst.op_type}), {numbers.decibels(worst.snr_db)}" if worst else ""
    return _chart(f"Error of each node's output in {name}", said, height, grid, [plot, below], [*words])


def _stretched(columns: int, y: float, height: float, width: str, paths: Sequence[tuple[str, str]]) -> Markup:
    """Paths over [0, columns] x [0, 100] across the plot; the strokes keep their width."""
    drawn = [
        el("path", d=d, class_=name, stroke_width=width, vector_effect="non-scaling-stroke") for d, name in paths if d
    ]
    box = {"x": f"{LEFT}%", "width": f"{RIGHT - LEFT}%", "y": f"{y}", "height": f"{height}"}
    return el("svg", drawn, **box, viewBox=f"0 0 {max(1, columns)} 100", preserveAspectRatio="none")


def bar(value: float, largest: float, kind: str) -> Markup:
    """A bar for a table's cell, of which the original's is a line; decoration, since the number stands beside it.

    Args:
        value: time as a share of the original's; largest: what fills the cell.
        kind: chosen, right, refused or original.
    """
    width = 100 * min(1.0, value / largest)
    cut = el("path", d="M0 0h5l-4 14h-5z", class_="cut", transform="translate(-14)") if value > largest else None
    end = el("svg", cut, x=f"{width:.2f}%", y=1, overflow="visible") if cut else None
    line = f"{100 / largest:.2f}%"
    rule = el("line", x1=line, x2=line, y1=0, y2=16, class_="rule")
    rect = el("rect", x=0, y=2, height=12, width=f"{width:.2f}%", rx=2, class_=f"mark {kind}")
    return el("svg", rect, end, rule, class_="bar", width="100%", height=16, aria_hidden="true")


def share(value: float, largest: float, kind: str) -> Markup:
    """A bar for a table's cell, as a share of the largest; decoration, since the number stands beside it.

    Args:
        kind: chosen, right, refused or original.
    """
    width = 100 * value / largest if largest else 0
    rect = el("rect", x=0, y=2, height=12, width=f"{width:.2f}%", rx=2, class_=f"mark {kind}")
    return el("svg", rect, class_="bar", width="100%", height=16, aria_hidden="true")


def _level(y: float, text: str) -> Markup:
    line = el("line", x1=f"{LEFT}%", x2=f"{RIGHT}%", y1=f"{y:.1f}", y2=f"{y:.1f}", class_="grid")
    return el("g", line, el("text", text, x=f"{LEFT}%", dx=-6, y=f"{y + 4:.1f}", text_anchor="end", class_="label"))


def _below(x: float, y: float, text: str) -> Markup:
    return el("text", text, x=f"{x:.2f}%", y=y, text_anchor="middle", class_="label")


def _chart(title: str, description: str, height: int, *layers: list[Markup]) -> Markup:
    about = (el("title", title), el("desc", description))
    return el("svg", about, *layers, class_="chart", width="100%", height=height, role="img", aria_label=title)
