"""The page's tokenizer library under Node: web/src/tokenizers.js over the pinned npm package, as the worker has it."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

__all__ = ["NodeTokenizers"]

WEB = Path(__file__).parents[2] / "web"
SERVE = """
import { createInterface } from "node:readline";
import { Tokenizers } from "./tokenizers.js";
const library = new Tokenizers();
for await (const line of createInterface({ input: process.stdin })) {
  const { method, args } = JSON.parse(line);
  console.log(JSON.stringify(library[method](...args) ?? null));
}
"""


class NodeTokenizers:
    """tokenizers.js in a process that answers line by line, with the same three functions.

    Args:
        folder: an empty one, for the modules.
    """

    def __init__(self, folder: Path) -> None:
        (folder / "vendor").mkdir()
        (folder / "package.json").write_text('{"type": "module"}')
        (folder / "serve.js").write_text(SERVE)
        shutil.copy(WEB / "src/tokenizers.js", folder)
        package = WEB / "node_modules/@huggingface/tokenizers/dist/tokenizers.min.mjs"
        shutil.copy(package, folder / "vendor/tokenizers.js")
        command = ["node", str(folder / "serve.js")]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def close(self) -> None:
        """End the process."""
        self._process.communicate()

    def model(self, spec: str) -> int:
        return self._ask("model", spec)

    def release(self, model: int) -> None:
        if self._process.poll() is None:  # the last ones may outlive it
            self._ask("release", model)

    def tokens(self, model: int, words: str) -> str:
        return self._ask("tokens", model, words)

    def find(self, pattern: str, text: str) -> str:
        return self._ask("find", pattern, text)

    def _ask(self, method: str, *args: Any) -> Any:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps({"method": method, "args": args}) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())
