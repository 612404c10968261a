"""One run at a time, whoever asks. How Python pauses for it in the page is tested in tests/browser/test_session.py."""

import asyncio
import sys
import threading

import pytest

from onnxlet.turns import Turns


def test_tasks_get_their_turns_in_the_order_in_which_they_asked() -> None:
    inside: list[int] = []
    order: list[int] = []

    async def run(turns: Turns, i: int) -> None:
        async with turns:
            inside.append(i)
            await asyncio.sleep(0)
            assert inside == [i]
            inside.remove(i)
            order.append(i)

    async def main() -> None:
        turns = Turns()
        await asyncio.gather(*(run(turns, i) for i in range(5)))
        async with turns:  # and it is free afterwards
            pass

    asyncio.run(main())
    assert order == [0, 1, 2, 3, 4]


def test_a_task_that_is_called_off_does_not_take_the_turn_with_it() -> None:
    async def run(turns: Turns) -> None:
        async with turns:
            pass

    async def main() -> None:
        turns = Turns()
        with turns:
            waiting, called_off, let_in = [asyncio.create_task(run(turns)) for _ in range(3)]
            await asyncio.sleep(0)
            called_off.cancel()
            await asyncio.sleep(0)
        waiting.cancel()  # let in by the end of the block, and called off before it could go on
        await asyncio.wait_for(let_in, 5)
        assert waiting.cancelled()
        assert called_off.cancelled()

    asyncio.run(main())


@pytest.mark.skipif(sys.platform == "emscripten", reason="the page has no threads")
def test_threads_wait_for_each_other() -> None:
    turns = Turns()
    done = threading.Event()

    def run() -> None:
        with turns:
            done.set()

    with turns:
        thread = threading.Thread(target=run)
        thread.start()
        assert not done.wait(0.1)
    thread.join(5)
    assert done.is_set()


def test_an_error_gives_the_turn_back() -> None:
    turns = Turns()
    with pytest.raises(ValueError, match="inside"), turns:
        raise ValueError("inside")
    with turns:
        pass
