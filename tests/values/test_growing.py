"""Functions that yield: what natively comes of them, and what crosses to the page."""

import asyncio
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Iterator
from typing import Any

import pytest

from onnxlet import App, Image, InvalidInput, Labels, wire
from onnxlet.form import read_function


def countdown(n: int = 3) -> Iterator[str]:
    for k in range(n, 0, -1):
        yield str(k)


async def slowly(n: int = 3) -> AsyncIterator[str]:
    for k in range(n):
        await asyncio.sleep(0)
        yield str(k)


def texts(app: App, name: str, *values: Any) -> tuple[list[str], str]:
    """What is shown on the way, and in the end."""
    seen: list[str] = []

    async def grown(shown: wire.Shown) -> None:
        seen.append(shown[0][0]["text"])

    inputs = [{"kind": "number", "value": value} for value in values]
    outputs, _ = asyncio.run(wire.call(app, name, inputs, [], grown))
    return seen, outputs[0]["text"]


def test_each_value_is_shown_and_the_last_one_stays() -> None:
    app = App(countdown, slowly)
    assert texts(app, "countdown") == (["3", "2", "1"], "1")
    assert texts(app, "slowly", 2) == (["0", "1"], "1")


def test_natively_an_app_gives_the_generator_itself_and_acall_its_last_value() -> None:
    app = App(countdown, slowly)
    assert list(app(2)) == ["2", "1"]
    assert asyncio.run(app.acall("countdown", [4])) == "1"
    assert asyncio.run(app.acall("slowly", [4])) == "3"


def pairs() -> Generator[tuple[Labels, Image], None, int]:
    yield from ()
    return 0


def sums() -> Iterable[float]:
    yield 1.5


def plain_list() -> Iterable[float]:
    return [1.5]


async def masks() -> AsyncIterator[Image]:
    if False:
        yield


def bare():  # type: ignore[no-untyped-def]
    yield 1


def loosely() -> Iterator:  # type: ignore[type-arg]
    yield 1


@pytest.mark.parametrize(
    ("call", "kinds"),
    [
        (pairs, ["labels", "image"]),
        (sums, ["json"]),
        (plain_list, ["json"]),
        (masks, ["image"]),
        (bare, ["auto"]),
        (loosely, ["auto"]),
        (countdown, ["text"]),
    ],
)
def test_the_annotation_of_one_value_says_how_it_is_drawn(call: Callable[..., Any], kinds: list[str]) -> None:
    assert [output.kind for output in read_function(call).outputs] == kinds


def test_async_generators_count_as_async_in_the_schema() -> None:
    schema = App(slowly, countdown, masks).schema()
    assert [function["async"] for function in schema["functions"]] == [True, False, True]


@pytest.mark.parametrize("name", ["countdown", "slowly"])
def test_a_generator_without_a_value_is_an_error_in_words(name: str) -> None:
    app = App(countdown, slowly)
    with pytest.raises(InvalidInput, match=f"{name}: expected at least one yield.*yield a value on every path"):
        asyncio.run(app.acall(name, [0]))
    with pytest.raises(InvalidInput, match="at least one yield"):
        texts(app, name, 0)


class Enough(Exception):
    pass


@pytest.mark.parametrize("is_async", [False, True])
def test_whoever_stops_in_between_closes_the_generator(is_async: bool) -> None:
    closed: list[str] = []

    def sync() -> Iterator[str]:
        try:
            yield "a"
            yield "b"
        finally:
            closed.append("sync")

    async def asynchronous() -> AsyncIterator[str]:
        try:
            yield "a"
            yield "b"
        finally:
            await asyncio.sleep(0)
            closed.append("asynchronous")

    async def enough(shown: wire.Shown) -> None:
        raise Enough

    call: Callable[..., Any] = asynchronous if is_async else sync
    with pytest.raises(Enough):
        asyncio.run(wire.call(App(call), call.__name__, [], [], enough))
    assert closed == [call.__name__]


def test_what_a_generator_raises_comes_after_what_it_yielded() -> None:
    seen: list[Any] = []

    def breaks() -> Iterator[str]:
        yield "half"
        raise ValueError("no more")

    async def grown(shown: wire.Shown) -> None:
        seen.append(shown[0][0]["text"])

    with pytest.raises(ValueError, match="no more"):
        asyncio.run(wire.call(App(breaks), "breaks", [], [], grown))
    assert seen == ["half"]


def test_every_value_must_be_what_the_annotation_promises() -> None:
    def mixed() -> Iterator[Image]:
        yield "no picture"  # type: ignore[misc]

    with pytest.raises(InvalidInput, match="Image"):
        asyncio.run(wire.call(App(mixed), "mixed", [], []))


def test_an_object_whose_call_yields_grows_too() -> None:
    class Counter:
        def __call__(self, n: int) -> Iterator[str]:
            yield from map(str, range(n))

    app = App(Counter())
    assert texts(app, "Counter", 3) == (["0", "1", "2"], "2")
