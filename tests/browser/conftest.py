"""Real Chromium, the examples built once, and a host with conditions; no request of any test may leave this machine."""

import fcntl
import os
import shutil
import socketserver
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Playwright, expect

from tests.browser import poverty
from tests.browser.driver import Visit
from tests.browser.server import Host, serving

ROOT = Path(__file__).parents[2]
APPS = Path(__file__).parent / "apps"
# Cross-origin isolation, JSPI and WebGPU on a software adapter, in a container without a display.
FLAGS = (
    "--no-sandbox",
    "--enable-unsafe-webgpu",
    "--use-webgpu-adapter=swiftshader",
    "--enable-features=Vulkan,WebGPU",
)
# What Chromium itself asks now and then (its updates, its sign-in, guesses about forms); no page can make it do so.
BROWSERS_OWN = (
    "accounts.google.com:",
    "android.clients.google.com:",
    "clients2.google.com:",
    "clientservices.googleapis.com:",
    "content-autofill.googleapis.com:",
    "edgedl.me.gvt1.com",
    "mtalk.google.com:",
    "optimizationguide-pa.googleapis.com:",
    "redirector.gvt1.com",
    "safebrowsing.googleapis.com:",
    "update.googleapis.com",
)
# What a test is not about costs it no time; the snapshot is made once a machine.
UNPROVEN = ("--variants", "original", "--no-browser", "--start", "speed")
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome")

expect.set_options(timeout=20_000)  # for a busy machine: nothing waits for it when all is well


def chromium() -> str | None:
    """The browser to test in; None leaves it to Playwright's own."""
    named = os.environ.get("ONNXLET_CHROMIUM")
    return named or next((path for name in CHROMIUM_NAMES if (path := shutil.which(name))), None)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if "big" in item.keywords and config.getoption("markexpr") != "big":
            item.add_marker(pytest.mark.skip(reason="needs 10 GB of memory: pytest -m big"))
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def foreign() -> Iterator[list[str]]:
    """What was asked of any other origin: the browser's only way there is this proxy, which refuses and remembers."""
    asked: list[str] = []

    class Refusal(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            line = self.rfile.readline().decode("latin-1").strip()
            if line and not any(own in line for own in BROWSERS_OWN):
                asked.append(line)
            self.wfile.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Refusal) as server:
        asked.append(f"http://127.0.0.1:{server.server_address[1]}")
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield asked
        server.shutdown()


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any], foreign: list[str]) -> dict[str, Any]:
    args = {**browser_type_launch_args, "args": [*FLAGS], "proxy": {"server": foreign.pop(0), "bypass": "127.0.0.1"}}
    if path := chromium():
        args["executable_path"] = path
    return args


@pytest.fixture(autouse=True)
def _nothing_from_elsewhere(foreign: list[str]) -> Iterator[None]:
    before = len(foreign)
    yield
    assert foreign[before:] == [], "a request went to another origin"


def build(apps: list[Path], out: Path, *options: str) -> Path:
    """Run build.py as a person would."""
    command = [sys.executable, "build.py", *(str(app) for app in apps), "--out", str(out), *UNPROVEN, *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


def build_once(apps: list[Path], name: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A build that all of pytest's worker processes share."""
    root = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        root = root.parent
    out = root / f"{name}-dist"
    with (root / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return out if out.exists() else build(apps, out)


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two small examples, built."""
    apps = [ROOT / "examples" / name / "app.py" for name in ("digits", "filetype")]
    return build_once(apps, "demo", tmp_path_factory)


@pytest.fixture(scope="session")
def gallery(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All examples, built as one site."""
    return build_once(sorted((ROOT / "examples").glob("*/app.py")), "gallery", tmp_path_factory)


@pytest.fixture(scope="session")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The apps of tests/browser/apps, built."""
    apps = sorted(path for path in APPS.glob("*/app.py"))
    return build_once(apps, "cases", tmp_path_factory)


@pytest.fixture(scope="session")
def two_builds(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The same app, built before and after its title changed."""
    folder = tmp_path_factory.mktemp("builds")
    app = folder / "waiting"
    shutil.copytree(APPS / "waiting", app)
    first = build([app / "app.py"], folder / "first")
    source = (app / "app.py").read_text()
    (app / "app.py").write_text(source.replace('title="Waiting"', 'title="Changed"'))
    return first, build([app / "app.py"], folder / "second")


@pytest.fixture(scope="session")
def host() -> Iterator[Host]:
    """An empty host; tests mount what they need: `host.sites["demo"] = demo`."""
    with serving({}) as host:
        yield host


@pytest.fixture
def visit(browser: Browser, host: Host) -> Iterator[Callable[..., Visit]]:
    """Opens a fresh browser profile under conditions, at a blank page of a site; see Visit for what it can do there."""
    contexts: list[BrowserContext] = []

    def opened(site: Path, conditions: str = "iso", *, offline: bool = False, **options: Any) -> Visit:
        name = (
            f"site{list(host.sites.values()).index(site)}" if site in host.sites.values() else f"site{len(host.sites)}"
        )
        host.sites[name] = site
        context = browser.new_context(service_workers="allow" if offline else "block", **options)
        contexts.append(context)
        context.add_init_script(poverty.script(set(conditions.split("+"))) or ";")
        return Visit(host, context, name, conditions)

    yield opened
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def launched(
    playwright: Playwright, browser_type_launch_args: dict[str, Any]
) -> Iterator[Callable[[Path], BrowserContext]]:
    """Opens a browser whose profile lies in a folder, as a visitor's does."""
    open_contexts: list[BrowserContext] = []

    def launch(profile: Path) -> BrowserContext:
        context = playwright.chromium.launch_persistent_context(str(profile), **browser_type_launch_args)
        open_contexts.append(context)
        return context

    yield launch
    for context in open_contexts:
        context.close()
