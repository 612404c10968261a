"""bench-out/report.html, which needs no script and no other file, and bench.json with every visit."""

import base64
import hashlib
import json
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from onnxlet_build.report.data import Context
from onnxlet_build.report.markup import Child, Markup, el
from onnxlet_build.report.page import styles
from onnxlet_build.report.tables import Column, badge, table
from tests.bench.rows import Row
from tests.bench.start import Key, Starts
from tests.bench.waterfall import waterfall
from tests.browser.conftest import ROOT

__all__ = ["Part", "write"]

DRAWN = ("first", "repeat", "relaunch")  # kinds of visit that get a waterfall
PAGES = {
    "onnxlet": "onnxlet",
    "direct": "onnxlet, before Python",
    "tutorial": "tutorial page",
    "plain": "plain JavaScript page",
    "transformers": "Transformers.js page",
}
RIVALS = (
    ("Tutorial page", "Pyodide, numpy, ONNX Runtime Web and the model, one after another, as tutorials have it."),
    ("Plain JavaScript page", "ONNX Runtime Web alone, its files preloaded, the same build and the same model."),
    ("Transformers.js page", "pipeline() with the same model and files of its own version on the same host."),
    ("First visit", "In a fresh profile. The form's first example is chosen as soon as the form can be used."),
    ("Repeat visit", "In the same session of the browser, under the service worker or the HTTP cache."),
    ("After a relaunch", "In the same profile, after the browser was closed and started again."),
    ("Offline", "The host is down; only onnxlet's page has an answer then."),
    ("Bytes", "What the host sent in answers that began before the page's answer was there, in brotli, with headers."),
    ("Peak memory", "The most RAM that the page's process held, Chromium's own 200 MB or so included."),
)


@dataclass(frozen=True)
class Part:
    """A section: its rows, and the visits behind them where it has any."""

    name: str
    rows: list[Row]
    seen: Starts | None = None


def write(folder: Path, parts: Sequence[Part], browser: str, versions: dict[str, str], command: str) -> Path:
    """Write both files.

    Args:
        browser: its name and version; versions: of what the pages are made of.
        command: that does it again.
    Returns: the page's path.
    """
    folder.mkdir(parents=True, exist_ok=True)
    context = Context.here("How onnxlet starts", [command], {"commit": _commit(), **versions}, browser)
    (folder / "bench.json").write_text(json.dumps(_document(parts, context), indent=1))
    (folder / "report.html").write_text(_page(parts, context), encoding="utf-8")
    return folder / "report.html"


def _commit() -> str:
    said = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True)
    return said.stdout.strip() or "unknown"


def _document(parts: Sequence[Part], context: Context) -> dict[str, Any]:
    told = []
    for one in parts:
        visits = one.seen.visits if one.seen else {}
        cells = [{**asdict(key), "visits": [asdict(visit) for visit in seen]} for key, seen in visits.items()]
        told.append({"name": one.name, "rows": [{**asdict(row), "met": row.met} for row in one.rows], "cells": cells})
    return {"format": 1, "context": asdict(context), "parts": told}


def _page(parts: Sequence[Part], context: Context) -> str:
    style = styles() + (Path(__file__).parent / "bench.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    head = el(
        "head",
        el("meta", charset="utf-8"),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("title", context.title),
        el("link", rel="icon", href="data:,"),
        Markup(f"<style>{style}</style>"),
    )
    about = f"{context.time[:10]} · {context.browser} · {context.machine}"
    top = el("header", el("p", "Benchmark", class_="fine"), el("h1", context.title), el("p", about, class_="fine"))
    top = Markup(top.replace("<header>", '<header class="masthead">', 1))
    main = el("main", _targets(parts), [_section(one) for one in parts], _words(), _versions(context))
    foot = el("footer", el("p", "Every visit as numbers: ", el("a", "bench.json", href="bench.json")), class_="foot")
    body = el("body", el("div", top, main, foot, class_="shell"))
    return f'<!doctype html>\n<html lang="en">\n{head}\n{body}\n</html>\n'


def _targets(parts: Sequence[Part]) -> Markup | None:
    rows = [row for one in parts for row in one.rows if row.met is not None]
    if not rows:
        return None
    met = sum(bool(row.met) for row in rows)
    said = el("p", el("strong", f"{met} of {len(rows)} targets"), " are met in this run.", class_="verdict")
    return el("section", el("article", said, _rows("Targets", rows), class_="card"), class_="part")


def _section(one: Part) -> Markup:
    figures = _figures(one.seen) if one.seen else None
    return el("section", el("h2", one.name), _rows(one.name, one.rows), figures, class_="part")


def _rows(caption: str, rows: Sequence[Row]) -> Markup:
    columns = [Column("What", head=True), Column("onnxlet", number=True), Column("Other", number=True)]
    columns += [Column("Compared", number=True), Column("Target", number=True)]
    cells: list[list[Child]] = [
        [row.label, row.ours, row.other or "–", row.compared or "–", [row.target or "–", " ", _met(row)]]
        for row in rows
    ]
    return table(caption, columns, cells, style="stacked")


def _met(row: Row) -> Child:
    return None if row.met is None else badge("met", "good") if row.met else badge("missed", "bad")


def _figures(seen: Starts) -> Markup | None:
    drawn = []
    for kind in DRAWN:
        keys = [key for key in seen.visits if key.visit == kind]
        drawn += [_figure(seen, key) for key in sorted(keys, key=lambda key: list(PAGES).index(key.page))]
    return el("div", drawn, class_="figures one") if drawn else None


def _figure(seen: Starts, key: Key) -> Markup | None:
    visit = seen.typical(key)
    if visit is None:
        return None
    name = f"{PAGES[key.page]}, {key.visit} visit"
    times = [one.answer_ms for one in seen.visits[key]]
    said = f"{visit.answer_ms:.0f} ms, the median of {len(times)} ({min(times):.0f} to {max(times):.0f} ms)"
    keys = [
        el("span", el("span", class_=f"swatch {kind}"), words, class_="key")
        for kind, words in (
            ("stage", "stage"),
            ("waits", "file asked for"),
            ("comes", "file comes"),
            ("usable", "form usable"),
            ("answered", "answer"),
        )
    ]
    drawn = el("div", waterfall(visit, name), role="region", tabindex=0, aria_label=f"{name}, stage by stage")
    return el("figure", el("h4", name), drawn, el("figcaption", el("p", keys), said), class_="figure")


def _words() -> Markup:
    listed = [el("div", el("dt", name), el("dd", words)) for name, words in RIVALS]
    return el("section", el("h2", "How to read this"), el("dl", listed, class_="facts words"), class_="part")


def _versions(context: Context) -> Markup:
    facts = [*context.versions.items(), ("machine", context.machine), ("browser", context.browser)]
    listed = [el("div", el("dt", name), el("dd", value)) for name, value in facts if value]
    again = el("pre", el("code", "\n".join(context.commands)), tabindex=0)
    told = (el("dl", listed, class_="facts short"), el("h3", "To do it again"), again)
    return el("section", el("h2", "Versions"), told, class_="part")
