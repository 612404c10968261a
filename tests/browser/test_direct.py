"""Tasks answer before Python is there, and say what Python says later; what is odd or broken waits for Python."""

import base64
import io
import json
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as PillowImage
from playwright.sync_api import Browser, expect

from onnxlet import Image
from onnxlet.media.raster import draw_strokes
from onnxlet.values.json_text import to_text
from tests.browser.conftest import ROOT, build_once
from tests.browser.driver import START, Visit, assert_same, until
from tests.browser.server import Host
from tests.browser.visitor import visiting

SLOW = "iso+slow~pyodide"  # Python comes later than any answer of ONNX Runtime's
ANGLE = {"kind": "drawing", "width": 280, "height": 280, "strokes": [{"size": 22, "points": [85, 65, 195, 62, 125, 230]}]}


def test_the_page_answers_before_python_is_up(browser: Browser, host: Host, demo: Path) -> None:
    with visiting(browser, host, demo, "digits.html", SLOW) as visitor:
        visitor.page.get_by_role("button", name="seven.png").click()
        expect(visitor.view.result.locator(".took")).to_contain_text("answered before Python was up")
        assert visitor.page.evaluate("[document.documentElement.dataset.answer, 'ready' in document.documentElement.dataset]") == [
            "direct",
            False,
        ]
        early = visitor.view.result.locator(".outputs").inner_text().splitlines()
        visitor.wait_ready()
        late = visitor.view.run().locator(".outputs").inner_text().splitlines()
        assert "7" in early
        assert early[:-1] == late[:-1], "all but the note with the time"
        expect(visitor.view.result.locator(".took")).not_to_contain_text("before Python")
        assert visitor.complaints == []
