"""What is kept on a device meets browsers, hosts and people as they are: the page works, or says what to do."""

import re
import shutil
import threading
import time

import pytest
from playwright.sync_api import expect

from tests.browser.driver import START_MS, increments, until

HOST = "plain+nocache"  # lets nothing be kept but by the service worker
REGISTERED = "navigator.serviceWorker.getRegistration().then(Boolean)"
DAY_MS = 24 * 60 * 60 * 1000

# What may happen to kept files. `change` leaves the mark that the contents were right.
HARM = """async (harm) => {
  const named = (start) => caches.keys().then((names) => names.find((name) => name.startsWith(start)));
  const files = await caches.open(await named("onnxlet-files "));
  const all = await files.keys();
  const change = async (end, how) => {
    const request = all.find(({ url }) => url.endsWith(end));
    const response = await files.match(request);
    const bytes = how(new Uint8Array(await response.arrayBuffer()));
    await files.put(request, new Response(bytes, { headers: response.headers }));
  };
  const harms = {
    all: async () => Promise.all((await caches.keys()).map((name) => caches.delete(name))),
    half: () => Promise.all(all.filter((_, i) => i % 2).map((request) => files.delete(request))),
    build: async () => caches.delete(await named("onnxlet h")),
    cut: () => change(".pack", (bytes) => bytes.slice(0, bytes.length / 2)),
    wasm: () => change("pyodide.asm.wasm", (bytes) => bytes.fill(255, 1000, 200000)),
    icon: () => change(".svg", (bytes) => bytes.fill(32, bytes.length / 2)),
  };
  await harms[harm]();
}"""
# Sets when something was looked at, as a clock that goes wrong would.
AGED = """async ([entry, time]) => {
  const settings = await caches.open((await caches.keys()).find((name) => name.startsWith("onnxlet-settings ")));
  await settings.put(new URL(`__onnxlet__/${entry}`, location.href), new Response(String(time)));
}"""
# How many kept files are what site.json says; 0 where one is not.
WHOLE = """async () => {
  const site = await (await fetch("site.json")).json();
  const root = new URL("./", location.href).href;
  const files = await caches.open(`onnxlet-files ${root}`);
  let right = 0;
  for (const request of await files.keys()) {
    const expected = site.files[request.url.slice(root.length)];
    if (!expected) continue;
    const digest = await crypto.subtle.digest("SHA-256", await (await files.match(request)).arrayBuffer());
    const text = Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
    if (text !== expected.sha256) return 0;
    right += 1;
  }
  return right;
}"""


@pytest.fixture
def visitor(visit, two_builds, host):
    """A new visitor of the first build; the host is put back in order afterwards."""
    visitor = visit(two_builds[0], HOST, offline=True)
    yield visitor
    host.sites[visitor.mount] = two_builds[0]
    host.down = False


def again(visitor):
    visitor.page.reload()
    visitor.when_ready()


def works_without_network(visitor):
    visitor.host.down = True
    again(visitor)
    visitor.host.down = False


def notice(visitor, key="storage"):
    return visitor.page.locator(f"#notices [data-notice={key}]")


def failure(visitor):
    """What the form that is shown says of a start that failed."""
    return visitor.page.locator(".view:not([hidden]) .error")


def until_true(condition):
    deadline = time.monotonic() + START_MS / 1000
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_kept_files_that_are_gone_cut_or_damaged_are_fetched_again(visitor):
    visitor.keep()
    number = visitor.page.evaluate(WHOLE)
    assert number > 20
    for harm in ("all", "half", "build", "cut", "wasm"):
        visitor.page.evaluate(HARM, harm)
        again(visitor)
        until(visitor.page, lambda: visitor.page.evaluate(WHOLE) == number)
        visitor.when_offline()
    session = visitor.context.new_cdp_session(visitor.page)
    session.send("Storage.clearDataForOrigin", {"origin": visitor.host.origin, "storageTypes": "cache_storage"})
    again(visitor)
    visitor.when_offline()
    works_without_network(visitor)
    assert visitor.start_here("waiting")["backend"]
    assert increments(visitor)


@pytest.mark.parametrize("days", [-2, 2])  # since the last look; a clock that was set back is no reason to trust
def test_damage_that_breaks_nothing_is_found_within_a_day_of_visits_and_said(visitor, days):
    visitor.keep()
    visitor.page.evaluate(HARM, "icon")
    assert visitor.page.evaluate(WHOLE) == 0
    visitor.page.evaluate(AGED, ["checked", time.time() * 1000 - days * DAY_MS])
    again(visitor)
    expect(notice(visitor)).to_contain_text("was damaged and has been fetched again", timeout=START_MS)
    assert visitor.page.evaluate(WHOLE) > 20


def test_a_site_that_its_host_removed_is_said_and_does_not_stay_for_ever(visitor, tmp_path):
    visitor.keep()
    (tmp_path / "index.html").write_text("<!doctype html><title>Moved</title>")
    visitor.host.sites[visitor.mount] = tmp_path
    again(visitor)
    expect(notice(visitor)).to_contain_text("will not be updated", timeout=START_MS)
    again(visitor)  # soon after, it may still be an upload that is not over
    expect(notice(visitor)).to_be_visible(timeout=START_MS)
    assert visitor.page.title() == "Waiting"
    visitor.page.evaluate(AGED, ["gone", time.time() * 1000 - 2 * DAY_MS])
    again(visitor)
    until(visitor.page, "caches.keys().then((names) => !names.length)")
    visitor.page.goto(visitor.url())
    assert visitor.page.title() == "Moved"


def test_a_visitor_sees_what_is_kept_and_can_have_it_removed(visitor):
    page = visitor.keep()
    page.locator("#status").click()
    expect(page.locator("#panel")).to_contain_text(re.compile(r"works offline: \d+(\.\d)? MB kept"))
    page.get_by_role("button", name="Remove what is kept on this device").click()
    expect(page.locator("#panel")).to_contain_text("Nothing of this page is kept")
    assert page.evaluate("caches.keys()") == []
    page.reload()
    visitor.when_ready()
    visitor.when_offline()


def test_a_host_that_changes_builds_while_a_page_loads_ends_in_the_new_build(visitor, two_builds):
    def swap():
        visitor.host.sites[visitor.mount] = two_builds[1]

    visitor.host.at("/app.py", swap)
    visitor.page.goto(visitor.url())
    expect(failure(visitor)).to_contain_text("the host answered 404", timeout=START_MS)
    notice(visitor, "update").get_by_role("button", name="Reload").click(timeout=START_MS)
    visitor.when_ready()
    assert visitor.page.title() == "Changed"
    visitor.when_offline()
    works_without_network(visitor)


def test_a_host_that_changes_builds_while_files_are_kept_mixes_nothing(visitor, two_builds):
    def swap():
        visitor.host.sites[visitor.mount] = two_builds[1]

    visitor.host.at("/index.html", swap)  # the page itself is asked for as "", so this is the service worker
    page = visitor.open()
    page.locator("#status").click()
    expect(page.locator("#panel")).to_contain_text("index.html is not of build", timeout=START_MS)
    again(visitor)
    visitor.when_offline()
    assert page.title() == "Changed"
    works_without_network(visitor)
    assert page.title() == "Changed"


def test_an_update_that_does_not_fit_takes_over_without_being_kept(visitor, two_builds):
    page = visitor.keep()
    session = visitor.context.new_cdp_session(page)
    room = page.evaluate("navigator.storage.estimate().then(({ usage }) => usage)") + 50_000  # for sw.js, not for pages
    session.send("Storage.overrideQuotaForOrigin", {"origin": visitor.host.origin, "quotaSize": room})
    visitor.host.sites[visitor.mount] = two_builds[1]
    again(visitor)
    notice(visitor, "update").get_by_role("button", name="Reload").click(timeout=START_MS)
    until(page, "document.title === 'Changed'")
    visitor.when_ready()


def test_a_service_worker_that_is_ended_in_the_middle_is_asked_again_and_two_tabs_ask_once(visitor):
    asked, go = threading.Event(), threading.Event()

    def hold():
        asked.set()
        go.wait(60)

    visitor.host.at("/index.html", hold)  # one of the last files that it fetches
    start = len(visitor.host.requests)
    page = visitor.open()
    second = visitor.context.new_page()
    second.goto(visitor.url())
    until_true(asked.is_set)
    session = visitor.context.new_cdp_session(page)
    session.send("ServiceWorker.enable")
    session.send("ServiceWorker.stopAllWorkers")
    go.set()
    visitor.when_offline()
    second.locator("html[data-ready]").wait_for(state="attached", timeout=START_MS)
    page.wait_for_timeout(500)
    assert sum(path.endswith("/index.html") for path in visitor.host.requests[start:]) == 2  # once more after the end
    works_without_network(visitor)


def test_a_network_that_ends_in_the_middle_of_a_first_visit_is_said_and_what_came_is_kept(visitor):
    def down():
        visitor.host.down = True

    visitor.host.at(".onnx", down)
    visitor.page.goto(visitor.url())
    expect(failure(visitor)).to_contain_text("the network or the host is out of reach", timeout=START_MS)
    until(
        visitor.page,
        "caches.match(new URL('site.json', location.href)).then(() => caches.keys()).then((n) => n.length > 0)",
    )
    visitor.host.down = False
    again(visitor)
    visitor.when_offline()


def test_a_host_that_never_answers_does_not_delay_what_is_kept(visitor):
    visitor.keep()
    release = threading.Event()
    for _ in range(50):
        visitor.host.at("", lambda: release.wait(120))
    try:
        again(visitor)
    finally:
        release.set()
        visitor.host.forget_hooks()


def test_sites_in_one_anothers_folders_leave_each_other_alone(visit, two_builds, host, tmp_path):
    first, second = two_builds
    outer = tmp_path / "outer"
    shutil.copytree(first, outer)
    shutil.copytree(second, outer / "sub")
    visitor = visit(outer, HOST, offline=True)
    page = visitor.keep()
    inner = visitor.context.new_page()
    inner.goto(visitor.url("sub/"))
    inner.locator("html[data-ready]").wait_for(state="attached", timeout=START_MS)
    until(inner, "caches.match(new URL('__onnxlet__/record', location.href)).then(Boolean)")
    shutil.rmtree(outer / "sub")
    shutil.copytree(first, outer / "sub")  # the build that lies in the outer folder
    inner.reload()
    inner.locator("#notices [data-notice=update]").wait_for(timeout=START_MS)
    assert page.locator("#notices [data-notice=update]").count() == 0
    assert page.title() == "Waiting"
    host.down = True
    try:
        for address, title in (("sub/", "Waiting"), ("", "Waiting")):
            inner.goto(visitor.url(address))
            inner.locator("html[data-ready]").wait_for(state="attached", timeout=START_MS)
            assert inner.title() == title
    finally:
        host.down = False


def test_a_browser_that_refuses_storage_to_the_service_worker_too_works_and_says_so(visit, two_builds):
    visitor = visit(two_builds[0], f"{HOST}+idberror+nolocal", offline=True)
    page = visitor.open()
    page.locator("#status").click()
    expect(page.locator("#panel")).to_contain_text("could not be stored for offline use", timeout=START_MS)
    again(visitor)
    assert page.evaluate("Boolean(navigator.serviceWorker.controller)")


def test_pages_that_their_host_redirects_are_kept_under_both_names(visit, cases, host):
    visitor = visit(cases, f"{HOST}+clean", offline=True)
    visitor.keep("waiting.html")
    assert visitor.page.url.endswith("/waiting")
    host.down = True
    try:
        for name in ("waiting", "waiting.html"):
            visitor.open(name)
    finally:
        host.down = False


def test_a_browser_that_was_closed_finds_what_is_kept(launched, two_builds, host, tmp_path):
    host.sites["again"] = two_builds[0]
    url = host.url(HOST, "again")

    def visited(context):
        page = context.pages[0]
        page.goto(url)
        page.locator("html[data-ready]").wait_for(state="attached", timeout=START_MS)
        return page

    context = launched(tmp_path)
    until(visited(context), "caches.match(new URL('__onnxlet__/record', location.href)).then(Boolean)")
    context.close()
    host.down = True
    try:
        visited(launched(tmp_path))
    finally:
        host.down = False
