"""The page's side of the core: the only file that imports `js` or `pyodide`.

The worker calls `start` once an app and `call` for every click. Both answer with values: an error is `{type, message,
traceback, hint}`, never an exception that JavaScript would have to take apart. Where a worker has several apps,
`enter` says whose turn it is; everything else here means the app that is current.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import json
import os
import platform
import shutil
import time
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import last_calls, onnxruntime_names, places, providers, wire
from . import session as _session
from .app import App
from .errors import InvalidInput, OnnxletError, ProviderError
from .providers.ort_web import NO_WAITING, WebProvider
from .source import RecordedModels, use_recorded
from .tokens import engines
from .workbench import Console, Workbench

if TYPE_CHECKING:
    from .tokens.definition import Definition

__all__ = ["call", "edit", "enter", "inside", "leave", "prompt", "start", "status", "stop"]

ROOT = Path("/app")  # where worker.js lays the app's files
_INSIDE = (str(Path(__file__).parent), str(Path(importlib.__file__).parents[1]), "<frozen")

_bridge: Any = None
_app: App | None = None
_seats: dict[str, tuple[places.Place, Any, App | None]] = {}  # by the app's folder: its place, its bridge, and itself
_benches: dict[str, tuple[Workbench, Console | None]] = {}  # by the same
_stopping = False


async def start(bridge: Any, config_json: str) -> str | None:
    """Make the page's runtime known to the core and import the app file.

    Args:
        bridge: see bridge.js.
        config_json: site.json's entry of the app: ``module`` and ``object`` name the App; ``root`` is its folder.
    Returns: None, or JSON ``{"error": {...}}``.
    """
    global _app
    config = json.loads(config_json)
    root = Path(config.get("root", ROOT))
    place = places.Place(root)
    try:
        places.enter(place)
        _app = None
        await connect(bridge, root)
        bench = Workbench(root, config.get("module", "app"), config.get("object", "app"))
        _app = bench.start()
        _benches[str(root)] = bench, None
    except Exception as error:
        return json.dumps({"error": describe(error)})
    finally:
        _seats[str(root)] = (place, bridge, _app)
    return None


def enter(root: str) -> None:
    """Make an app that has started, named by its folder, the one that `call`, `status` and `inside` mean."""
    global _bridge, _app
    place, _bridge, _app = _seats[root]
    places.enter(place)


def leave(root: str) -> None:
    """Forget an app and its files; its sessions give their memory back."""
    global _bridge, _app
    place = _seats.pop(root)[0]
    _benches.pop(root, None)
    if places.current() is place:
        places.leave()
        os.chdir("/")
        _bridge = _app = None
    del place
    gc.collect()
    shutil.rmtree(root, ignore_errors=True)


async def connect(bridge: Any, root: Path = ROOT) -> None:
    """Install the page's providers, the models that the build recorded, and the name `onnxruntime`."""
    global _bridge
    _bridge = bridge
    wait = _waiter() if bridge.waits == "jspi" else None
    kinds = [("wasm", providers.CPU), ("webgpu", providers.WEBGPU)]
    if bridge.backend == "webgpu":
        kinds.reverse()
    providers.install({name: _maker(name, kind, bridge, wait) for kind, name in kinds})
    models: dict[str, Any] = json.loads(bridge.models)
    # Python alone cannot wait for a file later on
    ahead = {m["id"]: await _fetch(bridge, m["id"]) for m in models.values()} if bridge.waits == "none" else {}

    def read(model_id: str) -> bytes:
        return ahead[model_id] if model_id in ahead else _read(bridge, model_id, wait)

    onnxruntime_names.install()
    engines.use(_tokenizer)
    last_calls.watch()
    use_recorded(RecordedModels(root, models, read, partial(_fetch, bridge)))


class Stopped(Exception):
    """The visitor wants no more of what grows."""


async def call(
    name: str, inputs_json: str, buffers: Sequence[Any], grown: Callable[[str, Any], None] | None = None
) -> Any:
    """Run one of the app's functions on values in wire form. Calls do not overlap.

    Args:
        name: the function's.
        inputs_json: a list of values, see docs/architecture.md.
        buffers: JavaScript's byte arrays, copied here.
        grown: called with each value that a generator yields: JSON ``{"outputs"}`` and a JavaScript array of buffers.
    Returns: a JavaScript array [json, buffers]; json is ``{"outputs", "timing"}`` or ``{"error"}``.
    """
    global _stopping
    from pyodide.ffi import to_js

    async def show(shown: wire.Shown) -> None:
        outputs, views = shown
        if grown:
            grown(json.dumps({"outputs": outputs}), to_js([memoryview(view) for view in views]))
        await asyncio.sleep(0)  # lets the worker hear of a stop
        if _stopping:
            raise Stopped("Stopped before it finished.")

    _stopping = False
    begin_s = time.perf_counter()
    before = _session.Meter(_session.meter.runs, _session.meter.seconds)
    views: list[bytes] = []
    try:
        if _app is None:
            raise InvalidInput("no app has started")
        data = [buffer.to_bytes() for buffer in buffers]
        outputs, views = await wire.call(_app, name, json.loads(inputs_json), data, show)
        answer: dict[str, Any] = {"outputs": outputs}
        answer["timing"] = {
            "total_ms": (time.perf_counter() - begin_s) * 1000,
            "run_ms": (_session.meter.seconds - before.seconds) * 1000,
            "runs": _session.meter.runs - before.runs,
        }
    except Exception as error:
        answer = {"error": describe(error)}
        views = []
    return to_js([json.dumps(answer), [memoryview(view) for view in views]])


def stop() -> None:
    """End a generator at its next yield: its `finally` blocks run, and its call answers with an error `Stopped`."""
    global _stopping
    _stopping = True


async def edit(sources_json: str) -> str:
    """Import the current app from other sources; where that fails the app stays as it was.

    Args:
        sources_json: text by path in the app's folder; files that are missing get their original text.
    Returns: JSON ``{"schema"}``, of the app that runs now, or ``{"error"}``.
    """
    global _app
    try:
        root, bench, _ = _bench()
        _app = bench.run(json.loads(sources_json))
        _seats[root] = (*_seats[root][:2], _app)
        return json.dumps({"schema": _app.schema()})
    except BaseException as error:  # SystemExit of an app's own too
        return json.dumps({"error": describe(error)})


async def prompt(line: str, write: Any) -> str:
    """Give the current app's console one line.

    Args:
        write: called with the kind and the text of all that comes of it, see `workbench.Console.push`.
    Returns: JSON ``{"more"}``: whether the line needs others to be complete; or ``{"error"}``.
    """
    from pyodide.console import Console as Interpreter

    try:
        root, bench, console = _bench()
        console = console or Console(Interpreter, bench)
        _benches[root] = bench, console
        return json.dumps({"more": await console.push(line, write)})
    except Exception as error:
        return json.dumps({"error": describe(error)})


def _bench() -> tuple[str, Workbench, Console | None]:
    place = places.current()
    root = str(place.root) if place else ""
    if root not in _benches:
        raise InvalidInput("no app has started")
    return root, *_benches[root]


def status() -> str:
    """What runs where and why, as JSON: backend, provider, threads, reason, python, placement."""
    session = next(iter(_session.sessions.values()), None)
    provider = session.get_providers()[0] if session else providers.available()[0]
    backend = {providers.WEBGPU: "webgpu", providers.CPU: "wasm"}.get(provider, "python")
    state: dict[str, Any] = {"backend": backend, "provider": provider, "python": platform.python_version()}
    reasons = [str(_bridge.reason)] if backend == _bridge.backend else [session.fallen] if session else []
    if backend == "python":
        state["threads"] = 1
    else:
        runtime = _bridge.describe(backend)
        state["threads"] = runtime.threads
        reasons.append(f"{runtime.threads} {'thread' if runtime.threads == 1 else 'threads'}: {runtime.reason}")
    placement = getattr(session, "placement", None)
    state["reason"] = "; ".join(filter(None, reasons))
    state["placement"] = placement() if callable(placement) else None
    state["variant"] = session.source.variant(provider) if session else {}
    return json.dumps(state)


async def inside(what: str, session: int, read: Any, name: str = "") -> str:
    """What `inside.py` and `node_table.py` know, as JSON.

    Args:
        what: "placements" of every session; "times", "compare", "nodes" or "measure" of one, "verify" one, or a "value"
            inside one.
        name: of the value.
        read: gives a promise of a file of the site, as JavaScript's byte array, by its path.
    Returns: JSON; ``{"error"}`` where it fails.
    """

    from . import inside as _inside  # few visitors open what these are for
    from . import node_table
    from .verification import verify

    async def bytes_of(path: str) -> bytes:
        return bytes((await read(path)).to_bytes())

    try:
        match what:
            case "placements":
                return json.dumps(await _inside.placements())
            case "times":
                return json.dumps(await _inside.times(session))
            case "compare":
                return json.dumps(await _inside.compare(session))
            case "nodes":
                return json.dumps(await node_table.nodes(session))
            case "measure":
                return json.dumps(await node_table.measure(session))
            case "value":
                return json.dumps(await node_table.value(session, name))
            case "verify":
                return json.dumps(await verify(session, bytes_of))
        raise InvalidInput(f"nothing inside is called {what!r}")
    except Exception as error:
        return json.dumps({"error": describe(error)})


def describe(error: BaseException) -> dict[str, str]:
    """An exception as the page shows it: the traceback holds the app's frames, and what they called, not ours above."""
    if isinstance(error, KeyError) and error.args:
        message = f"there is no {error.args[0]!r}"
    else:
        message = str(error) or type(error).__name__
    result = {"type": type(error).__name__, "message": message, "traceback": _trace(error)}
    if hint := _hint(error):
        result["hint"] = hint
    return result


def _trace(error: BaseException) -> str:
    trace = traceback.TracebackException.from_exception(error)
    link: traceback.TracebackException | None = trace
    while link:
        frames = list(link.stack)
        first = next((i for i, f in enumerate(frames) if not f.filename.startswith(_INSIDE)), len(frames))
        link.stack = traceback.StackSummary.from_list(frames[first:])
        link = link.__cause__ or link.__context__
    return "".join(trace.format())


def _hint(error: BaseException) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name:
        top = error.name.partition(".")[0]
        return f'add "{top}" to `dependencies` in the `# /// script` block at the top of the app file, and build again'
    if isinstance(error, OnnxletError):
        return ""  # these say in their message what to do
    if isinstance(error, MemoryError):
        return "the page's memory is full: reload it, or use smaller inputs"
    return ""


def _tokenizer(definition: Definition) -> engines.Engine:
    from .tokens.portable import JsonLibrary, PortableEngine  # most apps have no tokenizer

    if not _bridge.tokenizers:
        raise ProviderError(
            "this page came without a tokenizer: the app made none when it was built; make one where the app file is "
            "imported, and build again"
        )
    return PortableEngine(definition, JsonLibrary(_bridge.tokenizers))


def _maker(name: str, kind: str, bridge: Any, wait: Callable[[Any], Any] | None) -> Callable[[], WebProvider]:
    return partial(WebProvider, name, kind, bridge, wait)


def _waiter() -> Callable[[Any], Any]:
    from pyodide.ffi import run_sync

    def wait(awaitable: Any) -> Any:
        try:
            return run_sync(awaitable)
        except RuntimeError as error:
            # from a callback of JavaScript's, or another place that JavaScript entered without being able to pause
            if "stack switch" in str(error):
                raise ProviderError(NO_WAITING) from error
            raise

    return wait


def _read(bridge: Any, model_id: str, wait: Callable[[Any], Any] | None) -> bytes:
    if bridge.waits == "atomics":
        return _file(bridge.bytesSync(model_id))
    if wait is None:
        raise ProviderError(NO_WAITING)
    return _file(wait(bridge.bytes(model_id)))


async def _fetch(bridge: Any, model_id: str) -> bytes:
    return _file(bridge.bytesSync(model_id) if bridge.waits == "atomics" else await bridge.bytes(model_id))


def _file(answer: Any) -> bytes:
    if answer.error:
        raise ProviderError(answer.error)
    return bytes(answer.data.to_bytes())
