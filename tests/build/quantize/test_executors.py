"""Work spread over processes of this machine and over a Dask cluster: nothing is lost, and results are the same."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path

import pytest

from onnxlet.errors import BuildError
from onnxlet_build.accuracy import Budget
from onnxlet_build.executors import LocalWorkers, open_executor, spread
from onnxlet_build.progress import Reporter
from onnxlet_build.quantize import quantize
from onnxlet_build.variants import Candidate

from .models import cnn, images

WAIT_S = 60


def square(x: int) -> int:
    return x * x


def die_once(mark: str, x: int) -> int:
    """Kill the process that runs this, the first time."""
    if x == 3 and not Path(mark).exists():
        Path(mark).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return x * x


def die(_x: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def fail(x: int) -> int:
    raise BuildError(f"sample {x} does not fit")


def sleep(seconds: float) -> int:
    time.sleep(seconds)
    return os.getpid()


def no_progress(_n: int) -> None:
    pass


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def wait_until(true: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + WAIT_S
    while not true():
        assert time.monotonic() < end, what
        time.sleep(0.05)


def test_results_come_in_the_order_of_the_jobs(executor: Executor) -> None:
    done: list[int] = []
    assert list(spread(executor, square, ((x,) for x in range(40)), done.append)) == [x * x for x in range(40)]
    assert sum(done) == 40


def test_jobs_are_made_as_they_are_needed() -> None:
    made: list[int] = []

    def jobs() -> Iterator[tuple[int]]:
        for x in range(1000):
            made.append(x)
            yield (x,)

    with ThreadPoolExecutor(1) as pool:
        results = spread(pool, square, jobs(), no_progress)
        assert next(results) == 0
        assert len(made) < 50
        results.close()  # type: ignore[attr-defined]


def test_jobs_of_a_killed_worker_are_done_again(tmp_path: Path) -> None:
    with open_executor(workers=2) as workers:
        mark = str(tmp_path / "died")
        assert list(spread(workers, die_once, ((mark, x) for x in range(30)), no_progress)) == [
            x * x for x in range(30)
        ]
    assert (tmp_path / "died").exists()


def test_a_job_that_kills_every_worker_ends_with_a_sentence() -> None:
    with (
        open_executor(workers=1) as workers,
        pytest.raises(BuildError, match="3 workers ended while they ran the same"),
    ):
        list(spread(workers, die, [(0,)], no_progress))


def test_what_a_job_raises_comes_back_as_it_was(executor: Executor) -> None:
    with pytest.raises(BuildError, match="sample 0 does not fit"):
        list(spread(executor, fail, [(0,), (1,)], no_progress))


def test_an_interrupted_build_ends_its_workers_at_once() -> None:
    pids: list[int] = []
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt), open_executor(workers=1) as workers:  # noqa: PT012
        assert isinstance(workers, LocalWorkers)
        pids.append(workers.submit(sleep, 0).result())
        workers.submit(sleep, 600)
        raise KeyboardInterrupt
    assert time.monotonic() - began < WAIT_S
    wait_until(lambda: not is_running(pids[0]), "the worker is still there")


def test_workers_end_when_the_process_that_started_them_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "main.py"
    script.write_text(
        "import sys, time\n"
        "from onnxlet_build.executors import open_executor\n"
        "from tests.build.quantize.test_executors import sleep\n"
        "if __name__ == '__main__':\n"
        "    with open_executor(workers=1) as workers:\n"
        "        print(workers.submit(sleep, 0).result(), flush=True)\n"
        "        time.sleep(600)\n"
    )
    root = str(Path(__file__).parents[3])
    environment = {**os.environ, "PYTHONPATH": root}
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True, env=environment) as parent:
        assert parent.stdout
        pid = int(parent.stdout.readline())
        assert is_running(pid)
        parent.kill()
    wait_until(lambda: not is_running(pid), "the worker outlived its parent")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A Dask scheduler and two workers, as a person starts them. Gives the address and the workers."""
    pytest.importorskip("distributed")
    folder = tmp_path_factory.mktemp("dask")
    dask = str(Path(sys.executable).with_name("dask"))
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    started: list[subprocess.Popen[bytes]] = []

    def start(*arguments: str) -> None:
        command = [dask, *arguments]
        with (folder / f"{len(started)}.log").open("wb") as log:
            process = subprocess.Popen(
                command, cwd=folder, env=environment, stdout=log, stderr=log, start_new_session=True
            )
        started.append(process)

    try:
        connection = folder / "scheduler.json"
        start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(connection))
        wait_until(connection.exists, "the scheduler did not start")
        for number in range(2):
            start(
                "worker", "--scheduler-file", str(connection), "--nthreads", "1", "--no-dashboard", "--no-nanny",
                "--name", f"w{number}", "--host", "127.0.0.1", "--local-directory", str(folder),
            )  # fmt: skip
        from distributed import Client

        address = json.loads(connection.read_text())["address"]
        with Client(address, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=WAIT_S)
        yield address, started[1:]
    finally:
        for process in started:
            process.kill()
            process.wait()


def quantized(folder: Path, executor: Executor) -> list[Candidate]:
    calibration, evaluation = images(folder / "c", 40), images(folder / "e", 40, seed=2)
    given = (cnn(spoiled=True), calibration, evaluation, Budget(snr_db=25), folder / "out", executor)
    return quantize(*given, Reporter(quiet=True), wanted=["int8-static"])


@pytest.mark.usefixtures("small_too")
def test_a_cluster_that_loses_a_worker_gives_the_same_variant_as_this_machine(
    tmp_path: Path, executor: Executor, cluster: tuple[str, list[subprocess.Popen[bytes]]]
) -> None:
    from distributed import Client

    (here,) = quantized(tmp_path / "here", executor)
    address, workers = cluster
    with open_executor(address) as there, Client(address, set_as_default=False) as watcher:
        pool = ThreadPoolExecutor(1)
        result = pool.submit(quantized, tmp_path / "there", there)
        wait_until(lambda: all(watcher.processing().values()), "the workers got no jobs")
        assert not result.done()
        os.killpg(workers[0].pid, signal.SIGKILL)
        (candidate,) = result.result()
        pool.shutdown()
    assert here.path
    assert candidate.path
    assert candidate.path.read_bytes() == here.path.read_bytes()
    assert candidate.float_nodes == here.float_nodes != ()
    assert candidate.accuracy == here.accuracy
    assert candidate.node_errors == here.node_errors


def test_an_address_where_no_scheduler_answers_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("onnxlet_build.executors._CONNECT_S", 1)
    with (
        pytest.raises(BuildError, match=r"tcp://127\.0\.0\.1:9: no Dask scheduler answers there"),
        open_executor("tcp://127.0.0.1:9"),
    ):
        pass
    with pytest.raises(BuildError, match=r"no Dask scheduler answers there .an address is tcp://HOST:PORT"):
        open_executor("nonsense").__enter__()
