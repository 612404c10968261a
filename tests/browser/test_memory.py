"""Memory stays level however often a visitor runs an app: on the page, in its worker, in Python and in ONNX Runtime.

ONNXLET_RUNS=200 python -m pytest tests/browser/test_memory.py    # slow examples 200 times too
"""

import os

import pytest

from tests.browser.memory import Memory
from tests.browser.test_examples import EXAMPLES, entry_of

WARM = 20
RUNS = 200
SLOW = {"background": 60, "detect": 60, "ocr": 40, "photo": 100, "voice": 100}  # all 200 of these take ten minutes
LEVEL = 1.02
LEVEL_OBJECTS = 1.03  # without WebAssembly's memories; V8 still compiles what it sees often

PRESS_RUN = """async (times) => {
  const [form, result] = document.querySelectorAll("form.form, section.result");
  const answer = () => result.querySelector(".result-body .outputs");
  for (let i = 0; i < times; i++) {
    const before = answer();
    form.querySelector(".run").click();
    while (answer() === before || result.getAttribute("aria-busy") === "true") {
      const error = result.querySelector(".error");
      if (error) throw new Error(error.textContent);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }
}"""


@pytest.mark.parametrize("app", EXAMPLES)
def test_memory_is_level_over_many_runs_of_an_example(visit, gallery, app):
    visitor = visit(gallery, "plain+weighed")
    memory = Memory(visitor.page)
    page = visitor.open(entry_of(visitor.site, app)["page"])
    page.locator(".example").first.click()
    page.locator(".result-body .outputs").wait_for(timeout=60_000)
    page.evaluate(PRESS_RUN, WARM - 1)
    before = memory.held()
    page.evaluate(PRESS_RUN, int(os.environ.get("ONNXLET_RUNS", SLOW.get(app, RUNS))) - WARM)
    after = memory.held()
    print(f"{app}: JavaScript {before[0]:,} to {after[0]:,} bytes, WebAssembly {before[1]:,} to {after[1]:,}")
    assert before[1] > 30 << 20, "Python's memory was not found"
    assert sum(after) <= sum(before) * LEVEL
    assert after[0] <= before[0] * LEVEL_OBJECTS
