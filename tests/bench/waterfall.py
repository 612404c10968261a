"""A visit as an SVG: what each thread had come to, and what each file waited for, on one axis of time.

Places along the width are percent, so that letters keep their size on a phone.
"""

import math
import re
from collections.abc import Sequence
from urllib.parse import unquote, urlsplit

from onnxlet_build.report.markup import Markup, el, shortened
from tests.bench.visits import File, Stage, Visit

__all__ = ["waterfall"]

ROW = 22  # pixels
TOP = 40
SHOWN = 10  # files of a thread that get a row, those that took longest
RIGHT = 98.0  # percent of the width where the axis ends


def waterfall(visit: Visit, title: str) -> Markup:
    """Draw a visit up to a little after its answer.

    Args:
        title: for those who hear the page.
    """
    until = max(visit.answer_ms, visit.form_ms, 1.0) * 1.06
    rows: list[Markup] = []
    y = TOP
    for thread in visit.threads:
        stages = _until(_first(thread.stages), until)
        files = [file for file in thread.files if file.asked < until]
        if not stages and not files:
            continue
        rows.append(el("text", thread.thread, x=0, y=y + 15, class_="label strong"))
        y += ROW
        for drawn in (*_stages(stages, until), *_files(files, until)):
            rows.append(el("svg", drawn, y=y, height=ROW, width="100%", overflow="visible"))
            y += ROW
        y += 6
    lines = [_at(ms, until, f"{ms:g}", "grid", y) for ms in _ticks(until)]
    marks = [_at(visit.answer_ms, until, "", "answered", y)]
    if 0 < visit.form_ms < visit.answer_ms:
        marks.append(_at(visit.form_ms, until, "", "usable", y))
    said = f"The form could be used after {visit.form_ms:.0f} ms, the answer was there after {visit.answer_ms:.0f} ms."
    about = (el("title", title), el("desc", said))
    return el(
        "svg", about, lines, marks, rows, class_="chart waterfall", width="100%", height=y, role="img", aria_label=title
    )


def _first(stages: Sequence[Stage]) -> list[Stage]:
    """Of stages that come again the first counts."""
    return list({stage.name: stage for stage in reversed(stages)}.values())[::-1]


def _until(stages: Sequence[Stage], until: float) -> list[Stage]:
    return [stage for stage in stages if stage.end < until]


def _stages(stages: Sequence[Stage], until: float) -> list[list[Markup]]:
    """One row each: a measure from its start, a mark from the mark before it on its thread."""
    rows = []
    before = 0.0
    for stage in stages:
        start = stage.start if stage.end > stage.start else before
        bar = _bar(start, stage.end, until, "stage")
        rows.append([bar, _label(f"{stage.name}, {stage.end:.0f} ms", start, stage.end, until, "label strong")])
        before = stage.end
    return rows


def _files(files: Sequence[File], until: float) -> list[list[Markup]]:
    longest = sorted(files, key=lambda file: file.done - file.asked, reverse=True)[:SHOWN]
    shown = sorted(longest, key=lambda file: file.asked)
    rows = []
    for file in shown:
        first = max(file.asked, file.first) if file.first > 0 else file.done
        waits, comes = _bar(file.asked, first, until, "waits"), _bar(first, file.done, until, "comes")
        text = f"{_name(file.address)}, {file.done - file.asked:.0f} ms"
        rows.append([waits, comes, _label(text, file.asked, file.done, until, "label")])
    rest = [file for file in files if file not in longest]
    if rest:
        start, end = min(file.asked for file in rest), max(file.done for file in rest)
        bars = [_bar(file.asked, file.done, until, "comes many") for file in rest]
        word = "file" if len(rest) == 1 else "files"
        rows.append([*bars, _label(f"{len(rest)} more {word}", start, min(end, until), until, "label")])
    return rows


def _name(address: str) -> str:
    """A file's name as people know it: without its folders and without the hash in it."""
    name = unquote(urlsplit(address).path).rsplit("/", 1)[-1] or "the page"
    return shortened(re.sub(r"\.[0-9a-f]{8}(?=\.)", "", name), 34)


def _x(ms: float, until: float) -> float:
    return RIGHT * min(max(ms, 0.0), until) / until


def _bar(start: float, end: float, until: float, style: str) -> Markup:
    x = _x(start, until)
    return el("rect", x=f"{x:.2f}%", y=4, width=f"{max(0.15, _x(end, until) - x):.2f}%", height=ROW - 8, class_=style)


def _label(text: str, start: float, end: float, until: float, style: str) -> Markup:
    """Beside its bar: after it where there is room, before it else; on it where it fills the width."""
    left, right = _x(start, until), _x(end, until)
    if right < 55:
        place = {"x": f"{right:.2f}%", "dx": 6, "text_anchor": "start"}
    elif left > 45:
        place = {"x": f"{left:.2f}%", "dx": -6, "text_anchor": "end"}
    else:
        place = {"x": f"{left:.2f}%", "dx": 6, "text_anchor": "start"}
        style += " over"
    return el("text", text, y=15, class_=style, **place)


def _ticks(until: float) -> list[float]:
    """From 0 in four steps or so, each 1, 2 or 5 times a power of ten."""
    rough = until / 5
    power = 10 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
    return [step * i for i in range(math.ceil(until / step)) if step * i < until * 0.97]


def _at(ms: float, until: float, text: str, style: str, height: float) -> Markup:
    x = f"{_x(ms, until):.2f}%"
    line = el("line", x1=x, x2=x, y1=TOP - 12, y2=height, class_=style)
    if not text:
        return line
    anchor = "start" if ms == 0 else "middle"
    unit = " ms" if ms == 0 else ""
    return el("g", line, el("text", f"{text}{unit}", x=x, y=16, text_anchor=anchor, class_="label"))
