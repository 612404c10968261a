"""The page around the parts: template, style, the verdict above, what all models share below."""

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources

from .. import paths
from ..sizes import Row
from ..variants import ORIGINAL, Study
from ..visits import Visit
from . import measurements, numbers, sections
from .data import DEVICES, Context, accuracy_of, proof_for, refusal, times_faster, times_smaller
from .downloads import downloads
from .markup import Child, Markup, code, el, join
from .tables import Column, table

__all__ = ["page", "style_hash"]

_PARTS = (
    sections.choice,
    measurements.overview,
    measurements.variants,
    measurements.nodes,
    sections.refused,
    sections.steps,
    sections.findings,
)


def page(
    studies: Sequence[Study],
    rows: Sequence[Row] | None,
    context: Context,
    verdicts: Sequence[Sequence[str]],
    visits: Sequence[Visit] = (),
) -> str:
    """All of report.html.

    Args:
        verdicts: sentences for each study.
        visits: what the page of each app fetches.
    """
    pairs = list(zip(studies, verdicts, strict=True))
    values = {
        "csp": join(_policy()),
        "style": Markup(styles()),
        "title": join(context.title or "Models"),
        "about": _about(context),
        "alarm": _alarm(studies),
        "verdicts": join(_verdict(i, study, said, len(pairs) > 1) for i, (study, said) in enumerate(pairs)),
        "models": join(_model(i, study) for i, study in enumerate(studies)),
        "downloads": join([_direct(context), downloads(rows, visits)]),
        "versions": _versions(context),
        "commands": _commands(context),
    }
    return _fill(_read("report.html"), values)


@cache
def styles() -> str:
    """The page's style: colours and type of the app's pages, then its own."""
    base, dark = ((paths.WEB / "styles" / f"{name}.css").read_text(encoding="utf-8") for name in ("base", "dark"))
    return f"\n{base}@media (prefers-color-scheme: dark) {{\n{dark}}}\n{_read('report.css')}"


def style_hash() -> str:
    """base64 sha256 of the page's inline style, for a Content-Security-Policy."""
    return base64.b64encode(hashlib.sha256(styles().encode()).digest()).decode()


def _policy() -> str:
    """The strictest that shows the page: no script, nothing from anywhere."""
    return f"default-src 'none'; style-src 'sha256-{style_hash()}'; img-src data:; base-uri 'none'; form-action 'none'"


def _read(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _fill(template: str, values: Mapping[str, str]) -> str:
    return re.sub(r"\{\{(\w+)\}\}", lambda match: values[match[1]], template)


def _about(context: Context) -> Markup:
    facts = [f"Built {context.time[:10]}" if context.time else "", context.browser and f"Proven in {context.browser}"]
    return join(" · ".join(filter(None, facts)))


def _alarm(studies: Sequence[Study]) -> Markup:
    if not studies:
        return el("p", "This site has no model.", class_="notice")
    unproven = [study.name for study in studies if not study.proven]
    if not unproven:
        return Markup()
    every = len(unproven) == len(studies)
    what = "Nothing here was proven in a browser." if every else "Not every model was proven in a browser."
    text = (
        "The errors below are those of native ONNX Runtime on the build's machine, and browsers are known to answer "
        "differently. Visitors load the original, on a backend that rules of thumb choose. Build again without "
        "--no-browser, on a machine with Chromium, before you rely on "
    )
    named = [text, "it." if every else join([[", ".join(unproven)], "."])]
    return el("div", el("strong", what), el("p", named), class_="alarm", role="note")


def _verdict(number: int, study: Study, sentences: Sequence[str], several: bool) -> Markup:
    name = el("h2", el("a", study.name, href=f"#model-{number}")) if several else None
    said = [el("p", _stressed(sentence), class_="verdict") for sentence in sentences]
    return el("article", name, said, _tiles(study), class_="card")


def _stressed(sentence: str) -> Markup:
    """What it is about, before the colon, in bold."""
    head, colon, rest = sentence.partition(": ")
    return join([el("strong", head, ":"), f" {rest}"]) if colon else join(sentence)


def _tiles(study: Study) -> Markup | None:
    """The three or four numbers that a reader in a hurry looks for, of the first device class with a variant."""
    device = next((d for d, name in study.choice.items() if name != ORIGINAL), next(iter(study.choice), ""))
    candidate = study.candidate(study.choice.get(device, ""))
    original = study.candidate(ORIGINAL)
    if not candidate or not original:
        return None
    proof = proof_for(study, device)
    ratio = times_smaller(study, candidate)
    warm = times_faster(study, proof)[1] if proof else None
    accuracy = accuracy_of(study, device)
    tiles: list[tuple[str, Child, Child]] = []
    if ratio is not None and candidate is not original:
        tiles.append(("Download", numbers.smaller(ratio), _change(original.bytes, candidate.bytes)))
    if warm is not None and candidate is not original:
        tiles.append(("Speed", numbers.speed(warm), f"on {DEVICES.get(device, device)}, median of later runs"))
    if accuracy and accuracy.top1 is not None:
        where = f"the same best class on {numbers.count(accuracy.samples, 'sample')}"
        tiles.append(("Answers", numbers.share(accuracy.top1), where))
    elif accuracy:
        where = f"signal to noise on {numbers.count(accuracy.samples, 'sample')}"
        tiles.append(("Answers", numbers.decibels(accuracy.snr_db), where))
    if study.proofs:
        right = sum(not refusal(study, one) for one in study.proofs)
        where = "pairs of variant and backend answered right"
        tiles.append(
            (
                "Proof",
                f"{right} of {len(study.proofs)}",
                where + ("" if right == len(study.proofs) else "; the others are not offered"),
            )
        )
    drawn = [el("div", el("dt", a), el("dd", el("strong", b), el("span", c))) for a, b, c in tiles]
    return el("dl", drawn, class_="tiles") if drawn else None


def _change(before: int, after: int) -> str:
    return f"{numbers.size(before)} → {numbers.size(after)}"


def _model(number: int, study: Study) -> Markup:
    app = f" in {study.app}" if study.app else ""
    heading = el("h2", code(study.name, 0), el("span", app, class_="fine"), id=f"model-{number}")
    return el("article", heading, sections.origin(study), [make(study) for make in _PARTS], class_="model")


def _direct(context: Context) -> Markup:
    """Which tasks answer before Python is there."""
    if not context.direct:
        return Markup()
    rows: list[list[Child]] = [
        [
            f"{one['app']}: {one['function']}",
            f"no: {one['waits']}"
            if one["waits"]
            else f"yes, equal to Python on {numbers.count(one['samples'], 'input')}",
        ]
        for one in context.direct
    ]
    listed = table("Answers before Python", [Column("Function", head=True), Column("Before Python is there")], rows)
    note = "A first visit's answer then comes from graphs that the build has made of the task and compared with it."
    return el("section", el("h2", "Answers before Python"), el("p", note, class_="fine"), listed, class_="part")


def _versions(context: Context) -> Markup:
    facts = [*context.versions.items(), ("machine", context.machine)]
    facts += [("browser", context.browser or "none"), ("graphics adapter", context.adapter)]
    return el("dl", [el("div", el("dt", n), el("dd", v)) for n, v in facts if v], class_="facts short")


def _commands(context: Context) -> Markup:
    if not context.commands:
        return Markup()
    return join([el("h3", "To do it again"), el("pre", el("code", "\n".join(context.commands)), tabindex=0)])
