"""Workers: processes of this machine, or those of a Dask cluster. Both are a `concurrent.futures.Executor`.

What they are sent are functions of modules that import nothing heavier than numpy, onnx and onnxruntime.
"""

import contextlib
import multiprocessing
import os
import signal
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from onnxlet.errors import BuildError

__all__ = ["Cargo", "LocalWorkers", "cargo", "open_executor", "spread"]

# Jobs that wait or run at one time: enough for a small cluster, few enough to bound what they carry.
IN_FLIGHT = 16
# A job that ends three workers is at fault itself.
_TRIES = 3
_CONNECT_S = 15
_MATTERS = ("onnxruntime", "onnx", "numpy")

Cargo = Path | bytes


def cargo(path: Path, executor: Executor) -> Cargo:
    """A file on its way to a worker: its path where the worker sees this machine's disk, else its content."""
    return path if isinstance(executor, LocalWorkers) else path.read_bytes()


def spread(
    executor: Executor, function: Callable[..., Any], jobs: Iterable[tuple[Any, ...]], done: Callable[[int], None]
) -> Iterator[Any]:
    """Run `function(*job)` for each job. Results come in the order of the jobs, whoever ran them.

    A job whose worker died is sent again. Only a few jobs exist at a time: `jobs` may load them as it goes.

    Args:
        done: called with 1 for each result.
    Raises: what the function raised; BuildError: a job ended every worker that took it.
    """
    waiting: deque[tuple[Future[Any], tuple[Any, ...], int]] = deque()
    left = iter(jobs)
    try:
        while True:
            while len(waiting) < IN_FLIGHT and (job := next(left, None)) is not None:
                waiting.append((executor.submit(function, *job), job, 1))
            if not waiting:
                return
            future, job, tries = waiting.popleft()
            try:
                result = future.result()
            except Exception as error:
                if not _worker_died(error):
                    raise
                if tries == _TRIES:
                    raise BuildError(
                        f"{function.__name__}: {tries} workers ended while they ran the same job; "
                        "they may lack memory: use fewer with --workers, or smaller samples"
                    ) from error
                waiting.appendleft((executor.submit(function, *job), job, tries + 1))
                continue
            done(1)
            yield result
    finally:
        for future, _, _ in waiting:
            future.cancel()


def _worker_died(error: Exception) -> bool:
    """Dask sends the jobs of a lost worker again by itself, and gives up with KilledWorker."""
    return isinstance(error, BrokenExecutor) or type(error).__name__ == "KilledWorker"


class LocalWorkers(Executor):
    """A pool of processes that is made anew when one of them is killed.

    They end with this process, however it ends, and with Ctrl-C, without a word.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._lock = threading.Lock()
        self._pool = self._start()

    def _start(self) -> ProcessPoolExecutor:
        # not forked: ONNX Runtime's threads would not come along
        return ProcessPoolExecutor(self._count, multiprocessing.get_context("spawn"), initializer=_begin)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run a function in one of the processes."""
        with self._lock:
            try:
                return self._pool.submit(fn, *args, **kwargs)
            except BrokenExecutor:
                self._pool.shutdown(wait=False)
                self._pool = self._start()
                return self._pool.submit(fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes; without `wait` at once, whatever they are doing."""
        processes = list((self._pool._processes or {}).values())  # 3.14 has terminate_workers() for this
        if not wait:
            for process in processes:
                process.terminate()
        self._pool.shutdown(wait=True, cancel_futures=cancel_futures or not wait)


def _begin() -> None:
    """In a new worker: let Ctrl-C end it without a traceback, and watch the process that started it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    parent = multiprocessing.parent_process()
    if parent:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: Any) -> None:
    parent.join()
    os._exit(1)


@contextlib.contextmanager
def open_executor(cluster: str = "", workers: int | None = None) -> Iterator[Executor]:
    """Workers for the block.

    Args:
        cluster: address of a Dask scheduler, ``tcp://host:8786``; "" for processes of this machine.
        workers: of this machine, by default one for each core that this process may use; each computes in one thread.
    Raises: BuildError: nobody answers there, or the workers there lack our packages.
    """
    if cluster:
        with _dask(cluster) as executor:
            yield executor
        return
    local = LocalWorkers(workers or len(os.sched_getaffinity(0)))
    try:
        yield local
    except BaseException:
        local.shutdown(wait=False)
        raise
    local.shutdown()


@contextlib.contextmanager
def _dask(address: str) -> Iterator[Executor]:
    try:
        from distributed import Client
    except ImportError as error:
        raise BuildError(f'--cluster {address}: needs Dask: pip install "onnxlet[cluster]"') from error
    try:
        _knock(address)
        client = Client(address, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise BuildError(
            f"--cluster {address}: no Dask scheduler answers there ({error}); start one with `dask scheduler` "
            "and workers with `dask worker`, or leave --cluster out"
        ) from error
    with client:
        executor = client.get_executor(pure=False, retries=_TRIES)
        try:
            _check_workers(address, client)
            yield executor
        finally:
            executor.shutdown(wait=False)


def _knock(address: str) -> None:
    """Dask tries an address for half a minute and complains of it twice: see first whether anybody listens.

    Raises: OSError: nobody does; ValueError: the address has no port.
    """
    parts = urlsplit(address if "://" in address else f"tcp://{address}")
    if parts.scheme in ("tcp", "tls"):
        if not parts.hostname or not parts.port:
            raise ValueError("an address is tcp://HOST:PORT")
        socket.create_connection((parts.hostname, parts.port), _CONNECT_S).close()


def _check_workers(address: str, client: Any) -> None:
    if not client.nthreads():
        raise BuildError(f"--cluster {address}: has no workers; start some with `dask worker {address}`")
    here = versions()
    try:
        answers = client.run(versions)
    except Exception as error:
        raise BuildError(
            f"--cluster {address}: its workers cannot import onnxlet ({error}); install it there"
        ) from error
    for worker, there in answers.items():
        if there != here:
            raise BuildError(f"--cluster {address}: worker {worker} has {there}, expected {here}; install the same")


def versions() -> dict[str, str]:
    """Of the packages that decide what is computed."""
    return {name: version(name) for name in _MATTERS}
