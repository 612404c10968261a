"""What a PyTorch module is called with, flattened into named tensors, and other inputs like these."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from onnxlet.errors import BuildError

from ..samples import Feeds

__all__ = ["Axes", "Inputs", "batch_axes", "feeds", "others_like", "resized"]

Axes = Mapping[str, Mapping[int, str]]
"""Input name -> axis -> the symbol that stands for its size."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """A module's inputs and the call that takes them.

    Args:
        names: of the tensors; output_names: of the tensors that the module returns.
        tensors: the example. What is no tensor (flags, None) is a constant inside `call`.
        call: a torch.nn.Module from these tensors to a flat tuple of tensors.
    """

    names: tuple[str, ...]
    output_names: tuple[str, ...]
    tensors: tuple[Any, ...]
    call: Any

    def run(self, tensors: Sequence[Any]) -> tuple[Any, ...]:
        """What the module gives; one that writes into its inputs gets copies."""
        outputs: tuple[Any, ...] = self.call(*(tensor.clone() for tensor in tensors))
        return outputs

    @classmethod
    def of(cls, module: Any, given: Any, where: str) -> "Inputs":
        """Flatten the inputs of a module.

        Args:
            given: a tensor, a tuple of arguments, or a dict by parameter name; arrays count as tensors.
            where: for messages.
        Raises: BuildError: the module fails on them, or returns something without tensors.
        """
        import torch
        from torch.utils import _pytree as pytree

        positional, keywords = _arguments(given)
        leaves, spec = pytree.tree_flatten((positional, keywords))
        leaves = [torch.as_tensor(leaf) if hasattr(leaf, "__array__") else leaf for leaf in leaves]
        places = [place for place, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

        class Call(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.module = module

            def forward(self, *tensors: Any) -> tuple[Any, ...]:
                return tuple(_tensors(self.raw(tensors), where))

            def raw(self, tensors: Sequence[Any]) -> Any:
                """What the module itself returns."""
                filled = list(leaves)
                for place, tensor in zip(places, tensors, strict=True):
                    filled[place] = tensor
                args, kwargs = pytree.tree_unflatten(filled, spec)
                return self.module(*args, **kwargs)

        call = Call()
        tensors = tuple(leaves[place] for place in places)
        try:
            returned = call.raw([tensor.clone() for tensor in tensors])
        except Exception as error:
            shapes = ", ".join(f"{t.dtype}{list(t.shape)}".removeprefix("torch.") for t in tensors)
            said = f"{type(error).__name__}: {error}".strip().splitlines()[0]
            raise BuildError(f"{where}: fails on its example inputs ({shapes}): {said}; give others") from error
        return cls(_names(module, positional, keywords), _output_names(returned, where), tensors, call)


def _arguments(given: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(given, Mapping):
        return (), dict(given)
    return (tuple(given), {}) if isinstance(given, tuple | list) else ((given,), {})


def _names(module: Any, positional: tuple[Any, ...], keywords: Mapping[str, Any]) -> tuple[str, ...]:
    """A name for each tensor: its parameter's, numbered where one parameter holds several."""
    try:
        parameters = list(inspect.signature(getattr(module, "forward", module)).parameters.values())
        named = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    except ValueError:  # of a script; its schema begins with self
        named = [argument.name for argument in module.forward.schema.arguments[1:]]
    named += [f"input_{number}" for number in range(len(named), len(positional))]
    names: list[str] = []
    for name, value in (*zip(named, positional, strict=False), *keywords.items()):
        count = len(list(_tensors(value, name, strict=False)))
        names += [name] if count == 1 else [f"{name}_{number}" for number in range(count)]
    return tuple(names)


def _output_names(returned: Any, where: str) -> tuple[str, ...]:
    if isinstance(returned, Mapping):
        names = []
        for key, value in returned.items():
            count = len(list(_tensors(value, where)))
            names += [str(key)] if count == 1 else [f"{key}_{number}" for number in range(count)]
    else:
        count = len(list(_tensors(returned, where)))
        names = ["output"] if count == 1 else [f"output_{number}" for number in range(count)]
    if not names:
        raise BuildError(f"{where}: returns {type(returned).__name__} without a tensor; return what the app shall read")
    return tuple(names)


def _tensors(value: Any, where: str, *, strict: bool = True) -> Iterator[Any]:
    """The tensors of a nested value, numbers of an output among them.

    Raises: BuildError: with `strict`, it holds what is neither.
    """
    import torch
    from torch.utils import _pytree as pytree

    for leaf in pytree.tree_leaves(value):
        if isinstance(leaf, torch.Tensor) or (not strict and hasattr(leaf, "__array__")):
            yield leaf
        elif strict and isinstance(leaf, bool | int | float):
            yield torch.as_tensor(leaf)
        elif strict and leaf is not None:
            raise BuildError(f"{where}: returns a {type(leaf).__name__}, expected tensors, in tuples or dicts")


def feeds(names: Sequence[str], tensors: Sequence[Any]) -> Feeds:
    """The tensors as onnxruntime takes them."""
    return {name: tensor.detach().cpu().numpy() for name, tensor in zip(names, tensors, strict=True)}


def batch_axes(inputs: Inputs) -> Axes:
    """The first axis of every input whose size it shares with the first input."""
    sizes = [tensor.shape[0] if tensor.ndim else None for tensor in inputs.tensors]
    first = next((size for size in sizes if size is not None), None)
    return {name: {0: "batch"} for name, size in zip(inputs.names, sizes, strict=True) if first and size == first}


def resized(inputs: Inputs, axes: Axes, size: Callable[[int, int], int]) -> tuple[Any, ...]:
    """The example with other sizes, its values repeated or cut along the varying axes.

    Args:
        size: from an axis and its size to the new one.
    """
    import torch

    made = []
    for name, tensor in zip(inputs.names, inputs.tensors, strict=True):
        for axis in axes.get(name, {}):
            old = tensor.shape[axis]
            index = torch.arange(size(axis, old), device=tensor.device) % max(old, 1)
            tensor = tensor.index_select(axis, index) if old else tensor
        made.append(tensor)
    return tuple(made)


def others_like(inputs: Inputs, axes: Axes, rounds: int) -> Iterator[tuple[Any, ...]]:
    """The example; random values of its kind; and such of other sizes where there are axes that vary.

    Args:
        rounds: how many random ones of the example's size.
    """
    yield inputs.tensors
    for seed in range(rounds):
        yield _random(inputs.tensors, seed)
    if any(axes.values()):
        more = 2 if rounds == 1 else 15  # a branch on the batch, too, hides from a few
        # Twice a length or a side keeps to multiples that a model may need.
        yield _random(resized(inputs, axes, lambda axis, old: old + more if axis == 0 else 2 * old), rounds)
        yield _random(resized(inputs, axes, lambda axis, old: 1 if axis == 0 else old), rounds + 1)


def _random(tensors: Sequence[Any], seed: int) -> tuple[Any, ...]:
    """Values of the same mean and spread; whole numbers of the same range, so that codes stay codes."""
    import torch

    generator = torch.Generator().manual_seed(seed)

    def one(tensor: Any) -> Any:
        if not tensor.numel():
            return tensor
        if tensor.dtype.is_floating_point:
            wide = tensor.float()
            spread = float(wide.std(correction=0)) or 1.0
            values = torch.randn(tensor.shape, generator=generator) * spread + float(wide.mean())
            # What lies in a range (a picture's 0 to 1, a probability) stays there.
            values = values.clamp(float(wide.min()), float(wide.max())) if wide.min() < wide.max() else values
        elif tensor.dtype.is_complex:
            values = torch.randn(tensor.shape, generator=generator, dtype=torch.complex64)
        else:
            wide = tensor.long()
            values = torch.randint(int(wide.min()), int(wide.max()) + 1, tensor.shape, generator=generator)
        return values.to(device=tensor.device, dtype=tensor.dtype)

    return tuple(map(one, tensors))
