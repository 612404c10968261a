"""How much memory a page and its workers hold once Chromium has collected garbage."""

import json
from typing import Any

from playwright.sync_api import Page

__all__ = ["Memory"]


class Memory:
    """What a page and every worker that it starts hold. Made before the page opens, on a host that is "weighed"."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._session = page.context.new_cdp_session(page)
        self._workers: set[str] = set()  # their sessions
        self._answers: dict[int, dict[str, Any]] = {}
        self._asked = 0
        self._session.on("Target.attachedToTarget", self._attached)
        self._session.on("Target.detachedFromTarget", lambda event: self._workers.discard(event["sessionId"]))
        self._session.on("Target.receivedMessageFromTarget", self._received)
        self._session.send(
            "Target.setAutoAttach", {"autoAttach": True, "waitForDebuggerOnStart": False, "flatten": False}
        )

    def held(self) -> tuple[int, int]:
        """Bytes: of objects and buffers in JavaScript, and of WebAssembly memories, which grow and never shrink."""
        self._session.send("HeapProfiler.collectGarbage")
        objects = _sum(self._session.send("Runtime.getHeapUsage"))
        memories = 0
        for worker in self._workers:
            memories += self._ask(worker, "Runtime.evaluate", expression="memoryBytes()")["result"]["value"]
            self._ask(worker, "HeapProfiler.collectGarbage")
            objects += _sum(self._ask(worker, "Runtime.getHeapUsage"))
        return objects, memories

    def _attached(self, event: dict[str, Any]) -> None:
        if event["targetInfo"]["type"] == "worker":
            self._workers.add(event["sessionId"])

    def _received(self, event: dict[str, Any]) -> None:
        message = json.loads(event["message"])
        if "id" in message:
            self._answers[message["id"]] = message.get("result", {})

    def _ask(self, session: str, method: str, **params: Any) -> dict[str, Any]:
        self._asked += 1
        message = json.dumps({"id": self._asked, "method": method, "params": params})
        self._session.send("Target.sendMessageToTarget", {"sessionId": session, "message": message})
        while self._asked not in self._answers:
            self._page.wait_for_timeout(5)
        return self._answers.pop(self._asked)


def _sum(usage: dict[str, Any]) -> int:
    return int(usage["usedSize"] + usage["embedderHeapUsedSize"] + usage["backingStorageSize"])
