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
from collections.abc import Callable, Mapping, Sequence
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
from .proof_lab import START_S, Fault, Lab, ask
from .proof_site import ProofSite, write_proof_site
from .reference import custom_domains, expected_outputs
from .runtime import Runtime
from .samples import Samples
from .variants import Candidate, Proof

if TYPE_CHECKING:
    from playwright.async_api import Page

__all__ = ["BACKENDS", "prove"]

BACKENDS = ("wasm", "wasm-threads", "webgpu", "python")
LIMIT_S = 60.0
# Of that, for comparing samples; the rest is for times. Those of an emulated graphics adapter mean nothing, those of
# Python decide nothing.
SAMPLING_S, UNTIMED_S = 20.0, 6.0
STARTS = 3  # on a busy machine an emulated graphics driver may answer too late for the page, which goes on without
PYTHON_LIMIT_S = 20.0  # the core's own operators are a fallback: a model that needs longer is not for them
MOST_SAMPLES = 64
# V8 has compiled the runtime's hot loops again after some hundred milliseconds: the first rounds do not count.
ROUNDS, WARM_UP_ROUNDS = 9, 4
ROUND_MS = 40.0

_PROVIDERS = {"webgpu": "WebGpuExecutionProvider", "python": "NumpyExecutionProvider"}


@dataclass(slots=True)
class _Sample:
    address: str
    expected: Mapping[str, Array]


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
        names = [candidate.name for candidate in runnable]
        series = _Series(site, Lab(site.folder, chromium), pairs, limit_s)
        return browser.run_apart(series.prove(names, backends, lambda: advance(1)))


@dataclass(frozen=True, slots=True)
class _Series:
    """All proofs of one model, one after the other: side by side they would take each other's time."""

    site: ProofSite
    lab: Lab
    samples: Sequence[_Sample]
    limit_s: float

    async def prove(self, variants: Sequence[str], backends: Sequence[str], done: Callable[[], None]) -> list[Proof]:
        """Variants that will be compared with each other run close together: a machine has slow minutes."""
        found: dict[tuple[str, str], Proof] = {}
        async with self.lab.open():
            for backend in backends:
                facts = await self._adapter() if backend == "webgpu" else {}
                for variant in variants:
                    proof = Proof(variant, backend, **{**facts, **await self._attempt(variant, backend, facts)})
                    found[variant, backend] = proof
                    done()
        return [found[variant, backend] for variant in variants for backend in backends]

    async def _adapter(self) -> dict[str, Any]:
        adapter = await self.lab.adapter()
        return {"adapter": adapter.name, "f16": adapter.f16, "emulated": adapter.emulated, "fault": adapter.fault}

    async def _attempt(self, variant: str, backend: str, gpu: Mapping[str, Any]) -> dict[str, Any]:
        """Fields of a `Proof`; only `fault` where it cannot be offered."""
        if backend == "webgpu":
            half = "computes in float16, which this graphics adapter cannot (no shader-f16)"
            lacks_half = variant in self.site.half and not gpu["f16"]
            if why := gpu["fault"] or self.site.gpu_faults.get(variant) or (half if lacks_half else ""):
                return {"fault": why}
        limit_s = min(self.limit_s, PYTHON_LIMIT_S) if backend == "python" else self.limit_s
        try:
            async with self.lab.page(isolated=backend != "wasm") as page:
                attempt = _Attempt(page, backend, limit_s)
                await attempt.start(variant)
                return await attempt.run(self.samples, timed=backend != "python" and not gpu.get("emulated"))
        except Fault as fault:
            return {"fault": str(fault)}


class _Attempt:
    """One variant on one backend, in a page that is its own."""

    def __init__(self, page: "Page", backend: str, limit_s: float) -> None:
        self._page = page
        self._backend = backend
        self._limit_s = limit_s
        self._end_s = math.inf
        self._threads = 1

    async def start(self, variant: str) -> None:
        """Raises: Fault: the worker does not start, or not on this backend."""
        wanted = self._backend.removesuffix("-threads")
        for _ in range(STARTS):
            ready = await ask(self._page, "begin", {"app": variant, "backend": wanted}, START_S)
            if ready["backend"] == wanted:
                break
        else:
            raise Fault(ready["reason"])
        self._threads = ready["threads"]
        self._end_s = asyncio.get_running_loop().time() + self._limit_s

    async def run(self, samples: Sequence[_Sample], *, timed: bool) -> dict[str, Any]:
        """Compare samples for a while, at least one, then measure.

        Returns: fields of a `Proof`.
        Raises: Fault.
        """
        measure = Measure(list(samples[0].expected))
        times: list[float] = []
        facts: dict[str, Any] = {}
        enough_s = self._left_s() - min(self._limit_s / 2, SAMPLING_S if timed else UNTIMED_S)
        for sample in samples:
            if times and self._left_s() < enough_s:
                break
            answer = await self._call("run", sample)
            facts = json.loads(answer["text"])
            self._insist(facts)
            got = _arrays(base64.b64decode(answer["data"]))
            if list(got) != list(sample.expected):
                raise Fault(f"gives the outputs {', '.join(got)}, expected {', '.join(sample.expected)}")
            measure.add(list(sample.expected.values()), list(got.values()))
            times.append(facts["ms"])
        accuracy = measure.result()
        warm_ms = await self._warm_ms(samples[0], times) if timed else statistics.median(times[1:] or times)
        peak = await ask(self._page, "memory", None, max(1.0, self._left_s()))
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
        """Raises: Fault: something else has computed, which has proofs of its own."""
        wanted = _PROVIDERS.get(self._backend, "CPUExecutionProvider")
        ran = facts["placement"].get("provider", facts["provider"])
        if ran != wanted:
            raise Fault(facts["fallen"] or facts["placement"].get("reason") or f"{ran} ran it instead")

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
        except Fault as fault:
            return {**found, "on_cpu": [f"not known: {fault}"]}
        return {**found, "on_cpu": left} if left else found

    def _left_s(self) -> float:
        return self._end_s - asyncio.get_running_loop().time()

    async def _call(self, function: str, sample: _Sample, *numbers: int) -> Any:
        request = {"fn": function, "sample": sample.address, "numbers": numbers}
        return await ask(self._page, "ask", request, max(1.0, self._left_s()))


def _arrays(data: bytes) -> dict[str, Array]:
    """The outputs, which come as a tensor display: an .npy of the bytes of an .npz."""
    inner = np.load(io.BytesIO(data), allow_pickle=False).tobytes()
    with np.load(io.BytesIO(inner), allow_pickle=False) as stored:
        return {name: stored[name] for name in stored}
