"""The core's data classes behave as the standard library's do, of the same definition."""

import copy
import dataclasses
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from onnxlet import records


def define(dataclass: Callable[..., Any], field: Callable[..., Any], slots: bool) -> tuple[Any, Any, Any]:
    @dataclass(frozen=True, slots=slots)
    class Frozen:
        a: int
        b: str = "b"
        c: list = field(default_factory=list, compare=False)
        d: int = field(default=4, compare=False)

        @property
        def twice(self) -> int:
            return self.a * 2

    @dataclass(slots=slots)
    class Open:
        a: int = 1

        def __repr__(self) -> str:
            return "its own"

    @dataclass(frozen=True, slots=slots, eq=False)
    class Checked:
        a: int

        def __post_init__(self) -> None:
            if self.a < 0:
                raise ValueError(f"{self.a} is below 0")

    return Frozen, Open, Checked


@pytest.fixture(params=[True, False], ids=["slots", "no slots"])
def both(request: pytest.FixtureRequest) -> Any:
    standard = define(dataclasses.dataclass, dataclasses.field, request.param)
    return list(zip(define(records.dataclass, records.field, request.param), standard, strict=True))


def outcome(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as error:
        return type(error)


def test_instances_are_made_shown_compared_and_hashed_alike(both: Any) -> None:
    (frozen, opened, checked) = both
    calls: list[Callable[[Any], Any]] = [
        lambda cls: repr(cls(1)),
        lambda cls: repr(cls(1, c=[2], b="x")),
        lambda cls: cls(1, "b", [5]) == cls(1),
        lambda cls: (cls(1) == cls(2), cls(1) != cls(2), cls(1) == 1),
        lambda cls: hash(cls(1, c=[9])) == hash(cls(1)),
        lambda cls: cls(1).c is cls(1).c,
        lambda cls: cls(1).twice,
        lambda cls: repr(cls()),
        lambda cls: cls(1, a=1),
        lambda cls: cls(1, "b", [], 4, 5),
        lambda cls: cls(1, e=5),
        lambda cls: cls(b="x"),
        lambda cls: setattr(cls(1), "a", 2),
        lambda cls: delattr(cls(1), "a"),
        lambda cls: cls.__match_args__,
        lambda cls: hasattr(cls(1), "__dict__"),
    ]
    for ours, standard in (frozen, opened, checked):
        for number, call in enumerate(calls):
            assert outcome(lambda: call(ours)) == outcome(lambda: call(standard)), (ours, number)  # noqa: B023
    assert repr(opened[0]()) == "its own"
    assert outcome(lambda: hash(opened[0]())) is TypeError
    with pytest.raises(ValueError, match="-1 is below 0"):
        checked[0](-1)


def test_what_is_wrong_with_arguments_is_said(both: Any) -> None:
    frozen = both[0][0]
    with pytest.raises(TypeError, match="missing a required argument: 'a'"):
        frozen(b="x")
    with pytest.raises(TypeError, match="multiple values for argument 'a'"):
        frozen(1, a=1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'e'"):
        frozen(1, e=5)
    with pytest.raises(TypeError, match="too many positional arguments"):
        frozen(1, "b", [], 4, 5)
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'a'"):
        frozen(1).a = 2


def test_the_standard_library_takes_them_for_data_classes(both: Any) -> None:
    for ours, standard in both:
        assert dataclasses.is_dataclass(ours)
        mine, theirs = dataclasses.fields(ours), dataclasses.fields(standard)
        assert [(f.name, f.default, f.default_factory, f.compare) for f in mine] == [
            (f.name, f.default, f.default_factory, f.compare) for f in theirs
        ]
        assert dataclasses.asdict(ours(1)) == dataclasses.asdict(standard(1))
        assert dataclasses.replace(ours(1), a=3).a == 3
        assert copy.copy(ours(1)).a == copy.deepcopy(ours(1)).a == 1
    frozen = both[0][0]
    match frozen(1, "x"):
        case frozen(a, b):
            assert (a, b) == (1, "x")


@records.dataclass(frozen=True, slots=True)
class Kept:
    a: int
    b: str = "b"


def test_they_are_pickled() -> None:
    assert pickle.loads(pickle.dumps(Kept(1))) == Kept(1)
