"""How pictures with many boxes and pictures without a background look in the page."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import ROOT, build_once
from tests.browser.driver import Visit


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reading and cutting out, in one site."""
    apps = [ROOT / "examples" / name / "app.py" for name in ("ocr", "background")]
    return build_once(apps, "pictures", tmp_path_factory)


def test_more_labels_than_colours_are_numbers_on_the_picture(site: Path, visit: Callable[..., Visit]) -> None:
    page = shown(visit(site), "ocr", 1)
    expect(page.locator(".output-boxes .numbers > li")).to_have_count(7)
    expect(page.locator(".output-boxes .numbers > li").first).to_contain_text("Region-based segmentation")
    expect(page.locator(".output-boxes .tag")).to_have_text([str(number) for number in range(1, 8)])
    expect(page.locator(".output-text")).to_contain_text("histogram of grey values:")


def test_only_what_is_transparent_lies_on_a_chessboard(site: Path, visit: Callable[..., Visit]) -> None:
    visitor = visit(site)
    page = shown(visitor, "background", 0)
    expect(page.locator(".output-image .picture.see-through")).to_have_count(1)
    page.locator(".example").nth(1).click()
    page.locator(".run").first.click()
    expect(page.locator(".output-image .picture:not(.see-through)")).to_have_count(1)


def shown(visitor: Visit, app: str, example: int) -> Page:
    """An app's page with an example's result."""
    page = visitor.open(next(entry["page"] for entry in visitor.site["apps"] if entry["name"] == app))
    page.locator(".example").nth(example).click()
    page.locator(".run").first.click()
    page.locator(".result-body .outputs").wait_for(timeout=60_000)
    return page
