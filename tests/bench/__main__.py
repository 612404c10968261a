"""make bench: how fast a page starts beside its rivals, what it weighs, and what Python costs over plain JavaScript.

All pages run in one browser, in turns, from one server with one compression; numbers are medians, and only their
ratios mean something elsewhere. Everything lands in bench-out/: report.html, bench.json, and the built sites, which are
kept for the next run.

    python -m tests.bench                                                           # all of it, some 8 minutes
    python -m tests.bench --only start --app digits --rounds 3 --network none       # start-up against both rivals
    python -m tests.bench --only start --app digits --rounds 5 --network none --visits first --rivals tutorial
"""

import argparse
import shlex
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Playwright, sync_playwright
from rich.console import Console
from rich.table import Table

from tests.bench import memory, start
from tests.bench.calls import calls
from tests.bench.chrome import browser_name
from tests.bench.line import NETWORKS
from tests.bench.report import Part, write
from tests.bench.rows import Row
from tests.bench.sites import APPS, RIVALS, VISITS, App, Sites, compress
from tests.browser.conftest import ROOT
from tests.browser.server import Host, serving

SLOW_ROUNDS = 3  # where the network is most of the time, one round is much like another
PARTS = ("start", "memory", "calls")


def main() -> None:
    options = _parser().parse_args()
    console = Console()
    sites = Sites(options.out / "sites")
    with tempfile.TemporaryDirectory() as scratch, serving({}) as host, sync_playwright() as playwright:
        parts = []
        if options.only != "calls":
            for app in options.app or list(APPS):
                parts += _app(playwright, host, sites, app, Path(scratch), options, console)
        if options.only in (None, "calls"):
            host.compress = False  # neither side of a call waits for it
            host.sites["bench"] = sites.built(Path(__file__).parent / "app" / "app.py", "bench")
            parts.append(Part("Calls", calls(playwright, host, options.rounds)))
    for part in parts:
        console.print(_table(part.name, part.rows))
    page = write(
        options.out, parts, browser_name(), sites.versions(), shlex.join(["python", "-m", "tests.bench", *sys.argv[1:]])
    )
    console.print(f"{page} has the waterfalls")


def _app(
    playwright: Playwright,
    host: Host,
    sites: Sites,
    app: str,
    scratch: Path,
    options: argparse.Namespace,
    console: Console,
) -> list[Part]:
    """Start-up and memory of one app."""
    rivals = [rival for rival in APPS[app].rivals if rival in (RIVALS if options.rivals is None else options.rivals)]
    with console.status(f"Building {app}"):
        targets = start.mount(host, sites, APPS[app], rivals, options.build.split())
    parts = []
    if options.only != "memory":
        with console.status("Compressing what is new, at brotli's best: minutes for a new runtime"):
            compress(host)
        console.print(f"{app}: warming up")
        start.warm(playwright, host, targets, scratch)
        for scenario in _scenarios(APPS[app], options):
            seen = start.Starts()
            for key, visit in start.starts(playwright, host, targets, scenario, scratch, console.print):
                seen.add(key, visit)
            name = f"Start of {app}{NETWORKS[scenario.network].words}"
            parts.append(Part(name, start.rows(seen, scenario, targets), seen))
    if options.only in (None, "memory"):
        console.print(f"{app}: memory")
        found = memory.memories(playwright, host, sites, targets, scratch)
        parts.append(Part(f"Memory of {app}", memory.rows(found)))
    return parts


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=PARTS, help="one of the parts")
    parser.add_argument("--rounds", type=int, default=5, help="turns that each page takes (5)")
    parser.add_argument("--app", action="append", choices=list(APPS), help="an example; may be given again (all)")
    parser.add_argument(
        "--network", action="append", choices=list(NETWORKS), help="may be given again (what the app chooses)"
    )
    parser.add_argument("--visits", nargs="+", choices=VISITS, help="kinds of visit (what the app chooses)")
    parser.add_argument("--rivals", nargs="*", choices=RIVALS, help="pages to compare with (all; none without names)")
    parser.add_argument("--build", default="", help='options of build.py for the apps, such as "--start size"')
    parser.add_argument("--out", type=Path, default=ROOT / "bench-out", help="folder for the report and what is kept")
    return parser


def _scenarios(app: App, options: argparse.Namespace) -> Iterator[start.Scenario]:
    """What to measure of an app: what was asked for, else its own choice."""
    for network in options.network or list(app.visits):
        visits = tuple(options.visits or app.visits.get(network, ("first",)))
        most = SLOW_ROUNDS if network != "none" else app.rounds or options.rounds
        yield start.Scenario(app.name, network, visits, min(options.rounds, most))


def _table(title: str, rows: list[Row]) -> Table:
    table = Table("", "onnxlet", "rival", "ratio", "target", "", title=title)
    for row in rows:
        met = {True: "[green]met[/]", False: "[red]missed[/]", None: ""}[row.met]
        table.add_row(row.label, row.ours, row.other, row.compared, row.target, met)
    return table


if __name__ == "__main__":
    main()
