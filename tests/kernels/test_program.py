"""A program that could touch memory which is not its own is refused, whatever stands in it."""

import threading

import numpy as np
import onnxlet_kernels as kernels
import pytest

from .operators import call, one_step

MOVE = kernels.OPERATORS["move"][0]
COPY = [1, 1, 0, 0, 4, 1, 1]  # four bytes, one after the other


def program(code, constants=(), arena=64, feeds=0, results=0):
    return kernels.Program(np.array(code, np.int32), list(constants), arena, feeds, results)


def step(*operands, params=COPY):
    return [MOVE, len(params), *(word for operand in operands for word in operand), *params]


def test_an_empty_program_does_nothing():
    program([]).run((), ())


@pytest.mark.parametrize(
    "code",
    [
        [-1, 0],
        [10_000, 0],
        [MOVE],
        [MOVE, 7, 0, 0, 4],
        step((0, 0, 4), (0, 4, 4), params=[1, 1]),
        step((0, 0, 4), (0, 4, 4), params=[3, 1, 0, 0, 4, 1, 1]),
        step((0, 0, 4), (0, 4, 4), params=[1, 1, 0, 0, -4, 1, 1]),
        step((0, 0, 3), (0, 4, 4)),
        step((0, 0, 4), (0, 61, 4)),
        step((0, 0, 4), (5, 0, 4)),
        step((-1, 0, 4), (0, 0, 4)),
        step((0, 0, 4), (0, -4, 4)),
        step((0, 0, 4), (0, 4, 4), params=[1, 1, 0, 1, 4, 1, 1]),
        step((0, 0, 4), (0, 4, 4), params=[8, 2, 0, 0, 2**30, 2**30, 0, 4, 1, 1]),
    ],
)
def test_a_step_outside_its_memory_is_refused(code):
    with pytest.raises(ValueError, match="program:"):
        program(code)


def test_a_constant_is_never_written_and_must_be_large_enough():
    with pytest.raises(ValueError, match="cannot be buffer 1"):
        program(step((0, 0, 4), (1, 0, 4)), [np.zeros(4, np.uint8)])
    with pytest.raises(ValueError, match="constant 0 has 3 bytes, needs 4"):
        program(step((1, 0, 4), (0, 0, 4)), [np.zeros(3, np.uint8)])


def test_buffers_of_a_run_are_measured():
    p = program(step((1, 0, 4), (2, 0, 4)), feeds=1, results=1)
    good, out = np.arange(4, dtype=np.uint8), np.zeros(4, np.uint8)
    p.run((good,), (out,))
    assert (out == good).all()
    for feeds, results in [((), (out,)), ((good[:3],), (out,)), ((good,), (out[:3],)), ((good, good), (out,))]:
        with pytest.raises(ValueError, match="run:"):
            p.run(feeds, results)
    out.flags.writeable = False
    with pytest.raises((ValueError, BufferError)):
        p.run((good,), (out,))
    with pytest.raises((ValueError, BufferError)):
        p.run((np.arange(8, dtype=np.uint8)[::2],), (np.zeros(4, np.uint8),))


def test_the_arena_carries_values_between_steps():
    code = [*step((1, 0, 4), (0, 8, 4)), *step((0, 8, 4), (2, 0, 4))]
    out = np.zeros(4, np.uint8)
    program(code, feeds=1, results=1).run((np.arange(4, dtype=np.uint8),), (out,))
    assert out.tolist() == [0, 1, 2, 3]


def test_the_times_of_steps_are_told():
    p, feeds, results = one_step("move", [np.zeros(4, np.uint8), np.zeros(4, np.uint8)], COPY)
    ((name, nanoseconds),) = p.profile(feeds, results)
    assert name == "move"
    assert nanoseconds >= 0


def test_random_words_never_pass_for_a_program_that_runs_wild():
    rng = np.random.default_rng(0)
    for _ in range(3000):
        code = rng.integers(-2, 40, rng.integers(1, 60)).astype(np.int32)
        code[0] = rng.integers(0, len(kernels.OPERATORS))
        try:
            p = kernels.Program(code, [np.zeros(4096, np.uint8)], 4096, 1, 1)
        except ValueError:
            continue
        p.run((np.zeros(4096, np.uint8),), (np.zeros(4096, np.uint8),))


def test_threads_can_run_programs_of_their_own_at_once():
    def work():
        for i in range(200):
            out = np.zeros(64, np.float32)
            call("unary_f32", [np.full(64, -i, np.float32), out], [64, 0])
            assert not out.any()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
