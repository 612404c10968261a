"""Start-up: from navigation to the first answer on the real page of an app, and on its rivals' pages, in turns."""

import json
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from playwright.sync_api import Playwright

from tests.bench.chrome import opened
from tests.bench.line import NETWORKS
from tests.bench.rows import Row, ratio, single
from tests.bench.sites import DIRECT, OURS, App, Sites, model_file
from tests.bench.visits import Target, Visit, look
from tests.browser.server import Host

__all__ = ["Key", "Scenario", "Starts", "mount", "rows", "starts", "warm"]

RELAUNCHED = (OURS, "tutorial")  # whose visits after a relaunch a target compares
# What the project set itself: ratios by page, kind of visit and rival, and bytes.
TARGETS = {
    (OURS, "first", "tutorial"): 0.30,
    (OURS, "repeat", "tutorial"): 0.20,
    (OURS, "relaunch", "tutorial"): 0.28,
    (DIRECT, "first", "plain"): 1.15,
}
WITH_SNAPSHOT_BYTES = 8.5e6
WITHOUT_SNAPSHOT_BYTES = 7.2e6


@dataclass(frozen=True)
class Scenario:
    """What to measure: an app against some rivals, on a network."""

    app: str
    network: str
    visits: Sequence[str]
    rounds: int


@dataclass(frozen=True)
class Key:
    """One cell: a page of an app (ours or a rival's), a network, a kind of visit."""

    app: str
    page: str
    network: str
    visit: str


@dataclass
class Starts:
    """Every visit that was measured, by cell."""

    visits: dict[Key, list[Visit]] = field(default_factory=dict)

    def add(self, key: Key, visit: Visit) -> None:
        """One more visit."""
        self.visits.setdefault(key, []).append(visit)

    def answer_ms(self, key: Key) -> float | None:
        """The median time to the first answer; None where nothing was measured."""
        return self._median(key, lambda visit: visit.answer_ms)

    def form_ms(self, key: Key) -> float | None:
        """The median time to a form that can be used."""
        return self._median(key, lambda visit: visit.form_ms)

    def wire_bytes(self, key: Key) -> float | None:
        """The median of bytes before the answer, without the model."""
        return self._median(key, lambda visit: visit.wire.before - visit.wire.before_model)

    def late(self, key: Key) -> str:
        """In words, how often Python answered first where it need not have; "" for never."""
        told = [visit.by for visit in self.visits.get(key, [])]
        late = told.count("python")
        return f" (Python came first in {late} of {len(told)})" if late else ""

    def typical(self, key: Key) -> Visit | None:
        """The visit whose time is the median."""
        ranked = sorted(self.visits.get(key, []), key=lambda visit: visit.answer_ms)
        return ranked[(len(ranked) - 1) // 2] if ranked else None

    def _median(self, key: Key, value: Callable[[Visit], float]) -> float | None:
        visits = self.visits.get(key)
        return statistics.median(map(value, visits)) if visits else None


def mount(host: Host, sites: Sites, app: App, rivals: Sequence[str], options: Sequence[str] = ()) -> dict[str, Target]:
    """Serve an app and its rivals. Returns: the pages to visit by their names."""
    site = sites.built(app.folder / "app.py", app.name, *options)
    manifest = json.loads((site / "site.json").read_bytes())
    (model,) = manifest["models"].values()
    entry = manifest["apps"][0]
    expected = entry["examples"][0]["outputs"][0]["items"][0]["label"]
    most_bytes = WITH_SNAPSHOT_BYTES if "snapshot" in manifest["python"] else WITHOUT_SNAPSHOT_BYTES
    targets: dict[str, Target] = {}

    def ours(name: str, site: Path, by: str) -> None:
        mount = f"{name}-{app.name}"
        host.sites[mount] = site
        targets[name] = Target(
            mount=mount,
            url=host.url("plain", mount, entry["page"]),
            example="button.example",
            answer=".result-body .outputs .headline strong",
            failure=".result-body .error, .notice-stop",
            expected=expected,
            ours=True,
            by=by,
            model=model_file(model),
            most_bytes=most_bytes,
        )

    if any("direct" in function for function in entry["functions"]):
        ours(OURS, sites.without_direct(site), "python")
        ours(DIRECT, site, "")
    else:
        ours(OURS, site, "python")
    for kind in rivals:
        mount = f"{kind}-{app.name}"
        host.sites[mount] = sites.rival(kind, app, site)
        url = host.url("plain", mount, "index.html")
        targets[kind] = Target(mount, url, "main", "#answer", "#failure", expected, False, "", "/model.onnx")
    return targets


def starts(
    playwright: Playwright,
    host: Host,
    targets: Mapping[str, Target],
    scenario: Scenario,
    folder: Path,
    tell: Callable[[str], None],
) -> Iterator[tuple[Key, Visit]]:
    """Measure a scenario in fresh profiles, the pages in turns.

    Args:
        folder: an empty one for profiles.
        tell: hears of each round.
    """
    pages = list(targets)
    for turn in range(scenario.rounds):
        tell(f"{scenario.app}{NETWORKS[scenario.network].words}: round {turn + 1} of {scenario.rounds}")
        shift = turn % len(pages)
        for page in pages[shift:] + pages[:shift]:
            wanted = [visit for visit in scenario.visits if visit in ("first", "repeat") or page in RELAUNCHED]
            if page != OURS and "offline" in wanted:
                wanted.remove("offline")
            profile = folder / f"{scenario.app}-{scenario.network}-{turn}-{page}"
            host.line = NETWORKS[scenario.network].line()
            for visit, seen in _rounds(playwright, host, targets[page], profile, wanted):
                yield Key(scenario.app, page, scenario.network, visit), seen
    host.line = None


def warm(playwright: Playwright, host: Host, targets: Mapping[str, Target], folder: Path) -> None:
    """Visit every page once, so that the machine has the files and the browser in its memory."""
    for name, target in targets.items():
        with opened(playwright, folder / f"warm-{target.mount}-{name}") as context:
            look(context, host, target)


def _rounds(
    playwright: Playwright, host: Host, target: Target, profile: Path, wanted: Sequence[str]
) -> Iterator[tuple[str, Visit]]:
    """The visits of one person, one after another; only those that are wanted, and what has to come before them."""
    with opened(playwright, profile) as context:
        seen = look(context, host, target)
        if "first" in wanted:
            yield "first", seen
        if "repeat" in wanted:
            yield "repeat", look(context, host, target)
    if "relaunch" in wanted or "offline" in wanted:
        with opened(playwright, profile) as context:
            seen = look(context, host, target)
            if "relaunch" in wanted:
                yield "relaunch", seen
            if "offline" in wanted:
                host.down = True
                try:
                    yield "offline", look(context, host, target)
                finally:
                    host.down = False


def rows(seen: Starts, scenario: Scenario, targets: Mapping[str, Target]) -> list[Row]:
    """The scenario's comparisons; targets are those of the digits example on a network that costs nothing."""
    found = []
    rivals = [name for name, target in targets.items() if not target.ours]
    counts = scenario.app == "digits" and scenario.network == "none"
    for visit in scenario.visits:
        ours, direct = (Key(scenario.app, page, scenario.network, visit) for page in (OURS, DIRECT))
        early = "answer before Python" + seen.late(direct)
        for key, words in ((ours, "answer through Python"), (direct, early)):
            answer_ms = seen.answer_ms(key)
            if answer_ms is None:
                continue
            others = {rival: seen.answer_ms(replace(key, page=rival)) for rival in rivals}
            for rival, other_ms in others.items():
                if other_ms is not None:
                    most = TARGETS.get((key.page, visit, rival)) if counts else None
                    found.append(ratio(f"{visit} visit, {words}, {rival} page", answer_ms, other_ms, _ms, most))
            if not any(others.values()):
                found.append(single(f"{visit} visit, {words}", answer_ms, _ms))
        if (form_ms := seen.form_ms(ours)) is not None:
            found.append(single(f"{visit} visit, form usable", form_ms, _ms))
        if visit == "first":
            found += _weights(seen, ours, rivals, targets[OURS].most_bytes if counts else None)
    return found


def _weights(seen: Starts, ours: Key, rivals: Sequence[str], most_bytes: float | None) -> Iterator[Row]:
    wire = seen.wire_bytes(ours)
    if wire is None:
        return
    yield single("bytes before the answer, without the model", wire, _mb, most_bytes)
    for rival in rivals:
        other = seen.wire_bytes(replace(ours, page=rival))
        if other is not None:
            yield ratio(f"bytes before the answer, without the model, {rival} page", wire, other, _mb)


def _ms(value: float) -> str:
    return f"{value:.0f} ms"


def _mb(value: float) -> str:
    return f"{value / 1e6:.2f} MB"
