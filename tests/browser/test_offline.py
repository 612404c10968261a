"""After one visit: without a network, without requests, isolated on a bare host, and one build at a time."""

import json
import re
import shutil
from collections import Counter

from tests.browser.driver import increments, until
from tests.browser.server import BINARY

REGISTRATION = "navigator.serviceWorker.getRegistration()"
# Tells the service worker of a visit, as the page does when its app has started, and waits until it has tidied up.
# Mostly the newer build is still coming in then.
VISIT = """async (build) => {
  const { active } = await navigator.serviceWorker.getRegistration();
  const { port1, port2 } = new MessageChannel();
  const heard = new Promise((done) => (port1.onmessage = done));
  active.postMessage({ type: "visit", build, app: "waiting", files: [] }, [port2]);
  await heard;
  await new Promise((done) => setTimeout(done, 500));
}"""
HOST = "plain+nocache"  # sends no isolation headers, and lets nothing be kept but by the service worker


def build_of(site):
    return json.loads((site / "site.json").read_bytes())["build"]["id"]


def builds_kept(page):
    return page.evaluate("caches.keys().then((names) => names.filter((name) => name.startsWith('onnxlet ')).length)")


def test_a_second_visit_asks_for_nothing_and_works_without_a_network(visit, cases, host):
    visitor = visit(cases, HOST, offline=True)
    visitor.keep("waiting.html").close()
    with host.watched() as asked:
        visitor.page = visitor.context.new_page()
        visitor.open("waiting.html")
        visitor.page.wait_for_timeout(1000)
    assert {path.rsplit("/", 1)[1] for path in asked} <= {"sw.js"}
    host.down = True
    try:
        visitor.page.reload()
        visitor.when_ready()
        assert "error" not in visitor.start_here("waiting")
        assert increments(visitor)
    finally:
        host.down = False


def test_a_first_visit_downloads_once_and_a_bare_host_is_isolated_from_the_second_load_on(visit, cases, host):
    visitor = visit(cases, HOST, offline=True)
    with host.watched() as asked:
        page = visitor.keep("waiting.html")
    times = Counter(path for path in asked if path.endswith(BINARY))
    assert len(times) >= 5
    assert set(times.values()) == {1}, times
    assert page.evaluate("crossOriginIsolated") is False
    page.reload()
    visitor.when_ready()
    assert page.evaluate("crossOriginIsolated") is True
    assert "not cross-origin isolated" not in visitor.start_here("waiting")["reason"]
    page.goto(visitor.url("__blank__"))  # a page of somebody else's in the site's folder stays as its host sends it
    assert page.evaluate("[Boolean(navigator.serviceWorker.controller), crossOriginIsolated]") == [True, False]


def test_an_update_reaches_every_tab_and_disturbs_none(visit, two_builds, host):
    first, second = two_builds
    visitor = visit(first, HOST, offline=True)
    old = visitor.keep()
    assert visitor.start_here("waiting")
    host.sites[visitor.mount] = second
    try:
        new = visitor.context.new_page()
        new.goto(visitor.url())
        assert new.title() == "Waiting"  # from the cache: the whole page is of the first build
        for tab in (old, new):
            tab.locator("#notices").get_by_text(re.compile("reload", re.I)).first.wait_for(timeout=120_000)
        assert increments(visitor)  # in the old tab, whose files are kept
        assert builds_kept(old) == 2
        new.reload()
        new.locator("html[data-ready]").wait_for(state="attached", timeout=120_000)
        assert new.title() == "Changed"
        assert old.title() == "Waiting"
        visitor.page.evaluate("client.restart()")
        assert increments(visitor)
        old.close()
        new.reload()
        until(new, lambda: builds_kept(new) == 1)
    finally:
        host.sites[visitor.mount] = first


def test_a_visit_to_the_old_build_leaves_the_one_that_comes_in_alone(visit, two_builds, host):
    first, second = two_builds
    visitor = visit(first, HOST, offline=True)
    page = visitor.keep()
    host.sites[visitor.mount] = second
    try:
        page.evaluate(f"{REGISTRATION}.then((found) => void found.update())")
        until(page, lambda: builds_kept(page) == 2)
        page.evaluate(VISIT, build_of(first))
        page.locator("#notices").get_by_text(re.compile("reload", re.I)).first.wait_for(timeout=120_000)
        assert builds_kept(page) == 2
    finally:
        host.sites[visitor.mount] = first


def test_a_half_uploaded_build_is_not_used(visit, two_builds, host, tmp_path):
    first, second = two_builds
    broken = tmp_path / "broken"
    shutil.copytree(second, broken)
    for page in broken.glob("assets/app.*/app.py"):
        page.write_text("not yet uploaded")
    visitor = visit(first, HOST, offline=True)
    page = visitor.keep()
    host.sites[visitor.mount] = broken
    try:
        before = len(host.requests)
        page.reload()
        visitor.when_ready()
        until(page, lambda: sum(path.endswith("/app.py") for path in host.requests[before:]) >= 2)  # tried, and again
        until(page, lambda: builds_kept(page) == 1)
        page.reload()
        visitor.when_ready()
        assert page.title() == "Waiting"
    finally:
        host.sites[visitor.mount] = first


def test_two_sites_of_one_origin_leave_each_other_alone(visit, two_builds, host):
    first, second = two_builds
    visitor = visit(first, HOST, offline=True)
    page = visitor.keep()
    here = visitor.mount
    host.sites["neighbour"] = second
    visitor.mount = "neighbour"
    visitor.keep()
    assert builds_kept(page) == 2
    host.down = True
    try:
        for mount, title in ((here, "Waiting"), ("neighbour", "Changed")):
            visitor.mount = mount
            visitor.open()
            assert visitor.page.title() == title
    finally:
        host.down = False


def test_a_full_disk_leaves_the_page_working_and_is_said(visit, cases, host):
    visitor = visit(cases, HOST, offline=True)
    session = visitor.context.new_cdp_session(visitor.page)
    session.send("Storage.overrideQuotaForOrigin", {"origin": host.origin, "quotaSize": 1_000_000})
    assert "error" not in visitor.start("waiting")
    assert increments(visitor)
    offline = visitor.wait_for_event("offline")
    assert offline["ready"] is False
    assert "too little space" in offline["reason"]
    visitor.page.reload()
    assert "error" not in visitor.start("waiting")
