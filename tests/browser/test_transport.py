"""Hosts that compress nothing, or not everything: the page takes the .gz beside a file; what is wrong with it heals."""

import json
import os
import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest

from onnxlet_build.paths import WEB
from onnxlet_build.precompress import note_gzipped, precompress
from onnxlet_build.progress import Reporter
from tests.browser.driver import increments, until
from tests.browser.server import BINARY
from tests.browser.test_offline import VISIT

WASM = ("pyodide.asm.wasm", "ort-wasm-simd-threaded.wasm")
LOAD = """async ({module, site, root, path}) => {
  const { Assets } = await import(module);
  const progress = [];
  const assets = new Assets(site, root, (loaded, total) => progress.push([loaded, total]));
  const load = () => assets.bytes(path).then(async (bytes) => {
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
    return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
  }, (error) => error.message);
  return [await load(), progress.at(-1), await load()];
}"""
COMPILE = """async ({module, site, root, path}) => {
  const { fetchFile } = await import(module);
  const response = await fetchFile(root + path, site.files[path]);
  return WebAssembly.Module.exports(await WebAssembly.compileStreaming(response)).length;
}"""

FORGET = """async (path) => {
  for (const name of await caches.keys()) await (await caches.open(name)).delete(path);
}"""


@pytest.fixture(scope="session")
def gzipped(cases, tmp_path_factory):
    """The site of the cases as a build with --precompress gz leaves it."""
    site = tmp_path_factory.mktemp("gzipped") / "site"
    shutil.copytree(cases, site, copy_function=os.link)
    manifest = json.loads((site / "site.json").read_bytes())
    with ThreadPoolExecutor() as executor:
        precompress(manifest["files"], site, ["gz"], Reporter(quiet=True), executor)
    note_gzipped(manifest["files"], site)
    for path in [*site.glob("site*.json"), *site.glob("*.html")]:
        text = path.read_text().replace('"gz":false', '"gz":true')
        path.unlink()  # a link to the original's
        path.write_text(json.dumps(manifest) if path.suffix == ".json" else text)
    return site


@pytest.fixture
def blank(browser, host, gzipped):
    """Loads a file of the site in a blank page; conditions are those of the files' host."""
    host.sites |= {"gzipped": gzipped, "modules": WEB}
    context = browser.new_context()
    page = context.new_page()
    site = json.loads((gzipped / "site.json").read_bytes())

    def load(path, conditions, script=LOAD, module="assets.js"):
        page.goto(host.url("plain", "gzipped", "__blank__"))
        given = {"module": host.url(conditions, "modules", module), "site": site, "path": path}
        return page.evaluate(script, {**given, "root": host.url(conditions, "gzipped")})

    load.page, load.site = page, site
    load.path = next(path for path in site["files"] if path.endswith("pyodide.asm.wasm"))
    yield load
    context.close()


def names(paths):
    return [path.rsplit("/", 1)[1] for path in paths if "/assets/" in path]


def test_a_host_that_compresses_nothing_sends_what_the_build_compressed(visit, gzipped, host):
    visitor = visit(gzipped, "plain")
    before = len(host.sent)
    with host.watched() as asked:
        assert "error" not in visitor.start("waiting")
        assert increments(visitor)
    fetched = names(asked)
    assert len(fetched) == len(set(fetched)), "nothing is asked for twice"
    assert {"pyodide.asm.wasm.gz", "ort-wasm-simd-threaded.wasm.gz"} <= set(fetched)
    assert not [name for name in fetched if name.endswith(".wasm")]
    wasm = [sent for sent in host.sent[before:] if ".wasm" in sent.path]
    sizes = sum(gzipped.joinpath(*sent.path.split("/")[3:]).stat().st_size for sent in wasm)
    assert sizes < sum(sent.bytes for sent in wasm) < sizes + 1000 * len(wasm)


def test_what_a_host_leaves_uncompressed_is_let_go_at_its_headers(blank, host):
    before = len(host.sent)
    conditions = "plain+nocache+text-compressed+slow~.wasm"
    with host.watched() as asked:
        digest, *_ = blank(blank.path, conditions)
    assert digest == blank.site["files"][blank.path]["sha256"]
    assert names(asked) == ["pyodide.asm.wasm", "pyodide.asm.wasm.gz", "pyodide.asm.wasm.gz"], "the second time at once"
    until(blank.page, lambda: any(sent.path.endswith(".wasm") for sent in host.sent[before:]))
    started = sum(sent.bytes for sent in host.sent[before:] if sent.path.endswith(".wasm"))
    assert started < 0.1 * blank.site["files"][blank.path]["bytes"]


def test_progress_counts_the_bytes_of_the_file_itself(blank):
    size = blank.site["files"][blank.path]["bytes"]
    assert blank(blank.path, "plain")[1] == [size, size]


@pytest.mark.parametrize("conditions", ["plain", "plain+mime-text", "plain+gz-declared"])
def test_webassembly_that_comes_as_gz_compiles_while_it_comes(blank, host, conditions):
    with host.watched() as asked:
        assert blank(blank.path, conditions, COMPILE, "transport.js") > 100
    assert names(asked) == ["pyodide.asm.wasm.gz"]


@pytest.mark.parametrize(
    ("conditions", "asked_for"),
    [
        ("plain+nocache+gz-declared", ["wasm.gz", "wasm.gz"]),  # the browser has decoded it
        ("plain+nocache+404~.gz", ["wasm.gz", "wasm", "wasm"]),  # and is not asked for again
        ("plain+nocache+html~.gz", ["wasm.gz", "wasm", "wasm"]),
        ("plain+nocache+cut~.gz", ["wasm.gz", "wasm", "wasm.gz", "wasm"]),
        ("plain+nocache+short~.gz", ["wasm.gz", "wasm", "wasm.gz", "wasm"]),
        ("plain+nocache+empty~.gz", ["wasm.gz", "wasm", "wasm.gz", "wasm"]),
        ("plain+nocache+flip~.gz", ["wasm.gz", "wasm", "wasm.gz", "wasm"]),
    ],
)
def test_whatever_is_wrong_with_a_gz_the_file_itself_counts(blank, host, conditions, asked_for):
    right = blank.site["files"][blank.path]["sha256"]
    with host.watched() as asked:
        first, _, second = blank(blank.path, conditions)
    assert (first, second) == (right, right)
    mine = [name.removeprefix("pyodide.asm.") for name in names(asked) if name.startswith("pyodide.asm.")]
    assert mine == asked_for


def test_where_both_are_wrong_the_file_is_named(blank):
    message, *_ = blank(blank.path, "plain+short~pyodide.asm")
    assert message.startswith(f"{blank.path}: got 4798231 of 9596462 bytes")
    assert "upload the whole folder" in message


@pytest.mark.parametrize(
    "lacks", ["delete globalThis.DecompressionStream", "Response.prototype.__defineGetter__('body', () => {})"]
)
def test_a_browser_that_decodes_nothing_takes_the_file_itself(blank, host, lacks):
    blank.page.add_init_script(lacks)
    with host.watched() as asked:
        digest, *_ = blank(blank.path, "plain+text-compressed")
    assert digest == blank.site["files"][blank.path]["sha256"]
    assert names(asked) == ["pyodide.asm.wasm"] * 2


def test_the_service_worker_downloads_nothing_a_second_time(visit, gzipped, host):
    visitor = visit(gzipped, "plain+nocache+slow~.wasm", offline=True)
    before = len(host.sent)
    with host.watched() as asked:
        visitor.open("waiting.html")
        visitor.when_offline()
    fetched = [name for name in names(asked) if name.endswith((*BINARY, ".gz"))]
    assert len(fetched) == len(set(fetched)) > 3, fetched
    begun = [sent.bytes for sent in host.sent[before:] if sent.path.endswith(".wasm")]
    whole = sum(entry["bytes"] for path, entry in visitor.site["files"].items() if path.rsplit("/", 1)[1] in WASM)
    assert sum(begun) < 0.1 * whole, "the head of the page asks for WebAssembly before it knows the host"
    host.down = True
    try:
        visitor.page.reload()
        visitor.when_ready()
        assert "error" not in visitor.start_here("waiting")
        assert increments(visitor)
    finally:
        host.down = False


@pytest.mark.parametrize(
    ("fault", "asked_for"),
    [
        ("", ["wasm", "wasm.gz"]),
        ("+gz-declared", ["wasm", "wasm.gz"]),
        ("+404~.gz", ["wasm", "wasm"]),  # the browser remembers that it is not there
        ("+short~.gz", ["wasm", "wasm.gz", "wasm"]),
    ],
)
def test_the_service_worker_takes_a_gz_too_for_what_it_lacks(visit, gzipped, host, fault, asked_for):
    visitor = visit(gzipped, f"plain+nocache{fault}", offline=True)
    page = visitor.open("waiting.html")
    visitor.when_offline()
    path = next(path for path in visitor.site["files"] if path.endswith("pyodide.asm.wasm"))
    size = visitor.site["files"][path]["bytes"]
    page.evaluate(FORGET, path)
    with host.watched() as asked:
        page.evaluate(VISIT, visitor.site["build"]["id"])
    kept = page.evaluate(
        "(path) => caches.match(path).then((kept) => kept.arrayBuffer()).then((b) => b.byteLength)", path
    )
    assert kept == size
    mine = [name.removeprefix("pyodide.asm.") for name in names(asked) if name.startswith("pyodide.asm.")]
    assert mine == asked_for
