"""Proof that a variant is right where it will run: every one on every backend of a real browser, against the original.

A proof uses the runtime that the page uses: Pyodide, the core with its partitioner, ONNX Runtime Web. Each pair of
variant and backend gets a page and a worker of its own, so that memory is counted from nothing and one that hangs takes
nothing with it.
"""

import asyncio
import base64
import io
import json
import math
import statistics
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxlet.accuracy import Measure
from onnxlet.dtypes import Array
from onnxlet.errors import BuildError

from . import browser
from .convert import read_model
from .inspect_app import Inspected
from .progress import Reporter
from .proof_site import ProofSite, write_proof_site
from .reference import custom_domains, expected_outputs
from .runtime import Runtime
from .samples import Samples
from .serve import make_server
from .variants import Candidate, Proof

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, Page

__all__ = ["BACKENDS", "prove"]

BACKENDS = ("wasm", "wasm-threads", "webgpu", "python")
LIMIT_S = 60.0
START_S = 120.0  # the runtime's own start, on a busy machine; no variant is to blame for it
STARTS = 3  # on a busy machine, an emulated graphics driver may answer too late for the page, which then does without it
CLOSE_S = 10.0
PYTHON_LIMIT_S = 20.0  # the core's own operators are a fallback: a model that needs longer is not for them
MOST_SAMPLES = 64
# V8 has compiled the runtime's hot loops again after some hundred milliseconds: the first rounds do not count.
ROUNDS, WARM_UP_ROUNDS = 9, 4
ROUND_MS = 40.0

_PROVIDERS = {"webgpu": "WebGpuExecutionProvider", "python": "NumpyExecutionProvider"}


class _Fault(Exception):
    """Why a variant may not be offered on a backend."""


class _Harm(_Fault):
    """The same, and the browser is not to be used again."""


@dataclass(slots=True)
class _Sample:
    address: str
    expected: Mapping[str, Array]


@dataclass(slots=True)
class _Adapter:
    """The graphics adapter of the browser, as gpu.js finds it."""

    name: str = ""
    fault: str = ""
    f16: bool = False
    emulated: bool = False


def prove(
    candidates: Sequence[Candidate],
    reference: Path,
    samples: Samples,
    folder: Path,
    report: Reporter,
    runtime: Runtime,
    *,
    chromium: Path,
    limit_s: float = LIMIT_S,
    backends: Sequence[str] = BACKENDS,
    app: Inspected | None = None,
) -> list[Proof]:
    """Run every variant on every backend of a real Chromium and compare its outputs with the original's.

    Args:
        candidates: those without a file are passed over.
        reference: the original model, which runs on native ONNX Runtime.
        samples: inputs; as many of the first `MOST_SAMPLES` are used as fit into the time, at least one.
        folder: for the site and the reference outputs; is made.
        chromium: see `browser.find`.
        limit_s: for one variant on one backend, after its runtime has started; less for "python".
        backends: of `BACKENDS`.
        app: the app that opens the model: it registers the operators that only it has.
    Returns: a proof a pair, the wrong and failing ones included.
    Raises: BuildError: no sample, the browser does not start, or the original itself does not run.
    """
    if not len(samples):
        raise BuildError("no sample to prove the variants on; give the app an example, or model.py a calibration()")
    runnable = [candidate for candidate in candidates if candidate.path]
    own = custom_domains(read_model(reference))
    if own and app is None:
        why = f"not proven: its operators of {', '.join(own)} come with an app, and none was given"
        return [Proof(candidate.name, backend, fault=why) for candidate in runnable for backend in backends]
    used = samples[:MOST_SAMPLES]
    app = app if own else None
    with report.step(f"Computing the reference outputs of {reference.name}"):
        expected = expected_outputs(reference, used, folder / "expected", app)
    site = write_proof_site(folder / "site", runnable, used, app, runtime, report)
    pairs = [_Sample(address, dict(outputs)) for address, outputs in zip(site.samples, expected, strict=True)]
    with report.bar("Proving in Chromium", len(runnable) * len(backends)) as advance:
        lab = _Lab(site, chromium)
        work = _prove_all(lab, runnable, backends, pairs, limit_s, lambda: advance(1))
        return browser.run_apart(work)


async def _prove_all(
    lab: "_Lab",
    candidates: Sequence[Candidate],
    backends: Sequence[str],
    samples: Sequence[_Sample],
    limit_s: float,
    done: Callable[[], None],
) -> list[Proof]:
    proofs = []
    async with lab.open():
        for candidate in candidates:
            for backend in backends:
                proofs.append(await _prove_one(lab, candidate.name, backend, samples, limit_s))
                done()
    return proofs


async def _prove_one(lab: "_Lab", variant: str, backend: str, samples: Sequence[_Sample], limit_s: float) -> Proof:
    facts: dict[str, Any] = {}
    if backend == "webgpu":
        adapter = await lab.adapter()
        facts = {"adapter": adapter.name, "f16": adapter.f16, "emulated": adapter.emulated}
        if why := adapter.fault or lab.site.gpu_faults.get(variant, ""):
            return Proof(variant, backend, **facts, fault=why)
    try:
        async with lab.page(isolated=backend != "wasm") as page:
            attempt = _Attempt(page, backend, min(limit_s, PYTHON_LIMIT_S) if backend == "python" else limit_s)
            await attempt.start(variant)
            facts |= await attempt.run(samples, timed=not facts.get("emulated"))
    except _Fault as fault:
        return Proof(variant, backend, **facts, fault=str(fault))
    return Proof(variant, backend, **facts)


class _Attempt:
    """One variant on one backend, in a page that is its own."""

    def __init__(self, page: "Page", backend: str, limit_s: float) -> None:
        self._page = page
        self._backend = backend
        self._limit_s = limit_s
        self._end_s = math.inf
        self._threads = 1

    async def start(self, variant: str) -> None:
        """Raises: _Fault: the worker does not start, or not on this backend."""
        wanted = self._backend.removesuffix("-threads")
        for _ in range(STARTS):
            ready = await self._ask("begin", {"app": variant, "backend": wanted}, START_S)
            if ready["backend"] == wanted:
                break
        else:
            raise _Fault(ready["reason"])
        self._threads = ready["threads"]
        self._end_s = asyncio.get_running_loop().time() + self._limit_s

    async def run(self, samples: Sequence[_Sample], *, timed: bool) -> dict[str, Any]:
        """Run samples while half of the time lasts, then measure.

        Returns: fields of a `Proof`.
        Raises: _Fault.
        """
        measure = Measure(list(samples[0].expected))
        times: list[float] = []
        facts: dict[str, Any] = {}
        for sample in samples:
            if times and self._left_s() < self._limit_s / 2:
                break
            answer = await self._call("run", sample)
            facts = json.loads(answer["text"])
            self._insist(facts)
            got = _arrays(base64.b64decode(answer["data"]))
            if list(got) != list(sample.expected):
                raise _Fault(f"gives the outputs {', '.join(got)}, expected {', '.join(sample.expected)}")
            measure.add(list(sample.expected.values()), list(got.values()))
            times.append(facts["ms"])
        accuracy = measure.result()
        warm_ms = await self._warm_ms(samples[0], times) if timed else statistics.median(times[1:] or times)
        peak = await self._ask("memory", None, self._left_s())
        return {
            "accuracy": accuracy,
            "cold_ms": times[0],
            "warm_ms": warm_ms,
            "peak_bytes": peak,
            "threads": self._threads,
            "provider": facts["provider"],
            "placement": await self._placement(facts["placement"], samples[0]),
            "fault": accuracy.fault,
        }

    def _insist(self, facts: Mapping[str, Any]) -> None:
        """Raises: _Fault: something else has computed, which has proofs of its own."""
        wanted = _PROVIDERS.get(self._backend, "CPUExecutionProvider")
        ran = facts["placement"].get("provider", facts["provider"])
        if ran != wanted:
            raise _Fault(facts["fallen"] or facts["placement"].get("reason") or f"{ran} ran it instead")

    async def _warm_ms(self, sample: _Sample, times: Sequence[float]) -> float:
        """The median round once the runtime is warm; what was seen so far where the time does not suffice."""
        each_ms = max(min(times), 0.01)
        runs = max(1, round(ROUND_MS / each_ms))
        rounds = min(ROUNDS, int(self._left_s() * 1e3 * 0.6 / (runs * each_ms)))
        if rounds < 2:
            return statistics.median(times[1:] or times)
        answer = await self._call("measure", sample, rounds, runs)
        measured: list[float] = json.loads(answer["text"])
        return statistics.median(measured[min(WARM_UP_ROUNDS, rounds // 2) :])

    async def _placement(self, placement: dict[str, Any], sample: _Sample) -> dict[str, Any]:
        """What did not run on the provider: parts in Python, and operators that the GPU left to the processor."""
        found = {} if placement.get("whole", True) else placement
        if self._backend != "webgpu":
            return found
        try:
            left = json.loads((await self._call("on_cpu", sample))["text"])
        except _Fault as fault:
            return {**found, "on_cpu": [f"not known: {fault}"]}
        return {**found, "on_cpu": left} if left else found

    def _left_s(self) -> float:
        return self._end_s - asyncio.get_running_loop().time()

    async def _call(self, function: str, sample: _Sample, *numbers: int) -> Any:
        request = {"fn": function, "sample": sample.address, "numbers": numbers}
        return await self._ask("ask", request, max(1.0, self._left_s()))

    async def _ask(self, what: str, request: object, limit_s: float) -> Any:
        """Raises: _Fault: no answer in time, an error, or the browser is gone."""
        from playwright.async_api import Error

        try:
            async with asyncio.timeout(limit_s):
                answer = await self._page.evaluate(f"(request) => proof.{what}(request)", request)
        except TimeoutError:
            raise _Harm(f"gave no answer within {limit_s:.0f} s") from None
        except Error as error:
            raise _Harm(_words(error)) from error
        if isinstance(answer, dict) and "error" in answer:
            raise _Fault(answer["error"]["message"].strip())
        return answer


class _Lab:
    """A browser, and the site under two servers: one that isolates its pages, for threads, and one that does not."""

    def __init__(self, site: ProofSite, chromium: Path) -> None:
        self.site = site
        self._chromium = chromium
        self._stack = AsyncExitStack()
        self._browser: Browser | None = None
        self._closing = AsyncExitStack()
        self._addresses: dict[bool, str] = {}
        self._adapter: _Adapter | None = None
        self._software = False

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Serve the site while the block runs."""
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self._close)
            for isolated in (True, False):
                server = stack.enter_context(make_server(self.site.folder, port=0, isolation=isolated))
                threading.Thread(target=server.serve_forever, daemon=True).start()
                stack.callback(server.shutdown)
                self._addresses[isolated] = f"http://127.0.0.1:{server.server_address[1]}/"
            yield

    @asynccontextmanager
    async def page(self, *, isolated: bool) -> AsyncIterator["Page"]:
        """A page of a fresh profile with proof.js in it. A browser that was harmed is closed with it."""
        from playwright.async_api import Error

        try:
            started = await self._started()
            context = await started.new_context(service_workers="block")
            page = await context.new_page()
            await page.goto(self._addresses[isolated])
        except Error as error:
            await self._close()
            raise _Fault(_words(error)) from error
        try:
            yield page
        except _Harm:
            await self._close()
            raise
        finally:
            if self._browser:
                await self._shut(context)

    async def adapter(self) -> _Adapter:
        """The graphics adapter: a real one, else one that the processor emulates."""
        if self._adapter is None:
            self._adapter = await self._probe()
            if self._adapter.fault:
                await self._close()
                self._software = True
                self._adapter = await self._probe()
        return self._adapter

    async def _probe(self) -> _Adapter:
        try:
            async with self.page(isolated=True) as page, asyncio.timeout(START_S):
                return _Adapter(**await page.evaluate("proof.adapter()"))
        except (TimeoutError, _Fault) as error:
            return _Adapter(fault=f"the browser did not say what graphics it has ({error})")

    async def _started(self) -> "Browser":
        if self._browser is None:
            launching = browser.launched(self._chromium, software=self._software)
            self._browser = await self._closing.enter_async_context(launching)
        return self._browser

    async def _shut(self, context: "BrowserContext") -> None:
        from playwright.async_api import Error

        try:
            async with asyncio.timeout(CLOSE_S):
                await context.close()
        except (Error, TimeoutError):
            await self._close()

    async def _close(self) -> None:
        """End the browser, whatever it does."""
        closing, self._closing, self._browser = self._closing.pop_all(), AsyncExitStack(), None
        with suppress(Exception):
            async with asyncio.timeout(CLOSE_S):
                await closing.aclose()


def _words(error: Exception) -> str:
    return f"the browser failed: {str(error).strip().splitlines()[0]}"


def _arrays(data: bytes) -> dict[str, Array]:
    """The outputs, which come as a tensor display: an .npy of the bytes of an .npz."""
    inner = np.load(io.BytesIO(data), allow_pickle=False).tobytes()
    with np.load(io.BytesIO(inner), allow_pickle=False) as stored:
        return {name: stored[name] for name in stored}
