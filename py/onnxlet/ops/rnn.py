"""Recurrent layers: RNN, GRU and LSTM.

One direction is a loop over time around a `step`; what comes from the inputs alone is one matrix product before it.
Sequences in a batch may have different lengths: beyond its length a sequence's state stays and its outputs are 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..dtypes import Array
from ..errors import InvalidInput
from ..records import dataclass
from .activations import sigmoid
from .registry import op
from .support import product, restore, wide

__all__: list[str] = []

Activation = Callable[[Array], Array]
State = tuple[Array, ...]  # (h,) or (h, c), each [N, H]


def _affine(x: Array, alpha: float, beta: float) -> Array:
    return alpha * x + beta


# Name in lower case: the function, and the defaults of those of alpha and beta that it takes.
_ACTIVATIONS: dict[str, tuple[Callable[..., Array], tuple[float, ...]]] = {
    "relu": (lambda x: np.maximum(x, 0), ()),
    "tanh": (np.tanh, ()),
    "sigmoid": (sigmoid, ()),
    "softsign": (lambda x: x / (1 + np.abs(x)), ()),
    "softplus": (lambda x: np.logaddexp(x, 0), ()),
    "leakyrelu": (lambda x, alpha: np.where(x < 0, alpha * x, x), (0.01,)),
    "thresholdedrelu": (lambda x, alpha: np.where(x < alpha, 0, x), (1.0,)),
    "elu": (lambda x, alpha: np.where(x < 0, alpha * np.expm1(np.minimum(x, 0)), x), (1.0,)),
    "affine": (_affine, (1.0, 0.0)),
    "scaledtanh": (lambda x, alpha, beta: alpha * np.tanh(beta * x), (1.0, 1.0)),
    "hardsigmoid": (lambda x, alpha, beta: np.clip(alpha * x + beta, 0, 1), (0.2, 0.5)),
}


def _activations(names: Sequence[str], alphas: Sequence[float], betas: Sequence[float]) -> list[Activation]:
    """The functions by name. Each takes from alphas and betas as many values as it has, or its defaults."""
    left: list[list[float]] = [list(alphas), list(betas)]
    result = []
    for name in names:
        if name.lower() not in _ACTIVATIONS:
            raise InvalidInput(f'activation "{name}" is unknown, expected one of {", ".join(sorted(_ACTIVATIONS))}')
        function, defaults = _ACTIVATIONS[name.lower()]
        values = tuple(given.pop(0) if given else d for given, d in zip(left, defaults, strict=False))
        result.append(_with_parameters(function, values))
    return result


def _with_parameters(function: Callable[..., Array], values: tuple[float, ...]) -> Activation:
    return lambda x: function(x, *values)


@dataclass(frozen=True, slots=True)
class _Layer:
    """The inputs that the three layers share, checked, widened and time first.

    Args:
        X: [T, N, I].
        W, R, B: [directions, ...].
        lengths: int [N].
        reverse: whether each direction runs backward.
        functions: activations of each direction.
        clip: bound of what goes into a gate's activation. (onnxruntime, the only implementation, does not bound the
            cell state before the LSTM's last activation, so neither does this.)
    """

    X: Array
    W: Array
    R: Array
    B: Array
    lengths: Array
    reverse: tuple[bool, ...]
    functions: tuple[list[Activation], ...]
    clip: float | None
    batch_first: bool
    like: Array

    @classmethod
    def of(
        cls,
        X: Array,
        W: Array,
        R: Array,
        B: Array | None,
        sequence_lens: Array | None,
        *,
        gates: int,
        activations: Sequence[str] | None,
        defaults: tuple[str, ...],
        activation_alpha: Sequence[float] | None,
        activation_beta: Sequence[float] | None,
        clip: float | None,
        direction: str,
        layout: int,
    ) -> _Layer:
        reverse = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}.get(direction)
        if reverse is None:
            raise InvalidInput(f'direction is "{direction}", expected forward, reverse or bidirectional')
        count = len(reverse)
        if W.shape[0] != count or R.shape[0] != count:
            raise InvalidInput(f"W and R have {W.shape[0]} and {R.shape[0]} directions, expected {count} ({direction})")
        H = R.shape[2]
        names = list(activations or defaults * count)
        if len(names) != len(defaults) * count:
            raise InvalidInput(f"{len(names)} activations, expected {len(defaults) * count}")
        functions = _activations(names, activation_alpha or (), activation_beta or ())
        x = wide(X).swapaxes(0, 1) if layout else wide(X)
        T, N = x.shape[:2]
        if (
            sequence_lens is not None
            and sequence_lens.size
            and not 0 <= sequence_lens.min() <= sequence_lens.max() <= T
        ):
            raise InvalidInput(f"sequence_lens has values outside [0, {T}] (the length of X)")
        return cls(
            X=x,
            W=wide(W),
            R=wide(R),
            B=np.zeros((count, 2 * gates * H), dtype=x.dtype) if B is None else wide(B),
            lengths=np.full(N, T) if sequence_lens is None else sequence_lens,
            reverse=reverse,
            functions=tuple(functions[i * len(defaults) : (i + 1) * len(defaults)] for i in range(count)),
            clip=clip,
            batch_first=bool(layout),
            like=X,
        )

    def clipped(self, x: Array) -> Array:
        return x if self.clip is None else np.clip(x, -self.clip, self.clip)

    def initial(self, given: Array | None, d: int) -> Array:
        """The state [N, H] that a direction starts from."""
        if given is None:
            return np.zeros((self.X.shape[1], self.R.shape[2]), dtype=self.X.dtype)
        return wide(given[:, d] if self.batch_first else given[d])

    def run(self, d: int, inputs: Array, start: State, step: Callable[[Array, State], State]) -> tuple[Array, State]:
        """One direction.

        Args:
            inputs: [T, N, ...], what a step needs of the inputs.
            step: the state after one time step; its first member is the output.
        Returns: outputs [T, N, H], and the last state of every sequence.
        """
        T, N = inputs.shape[:2]
        time = np.arange(T)[:, None]
        inside = time < self.lengths
        order = np.where(inside & self.reverse[d], self.lengths - 1 - time, time)  # its own inverse
        samples = np.arange(N)
        same_length = bool(inside.all())
        outputs = np.zeros((T, *start[0].shape), dtype=start[0].dtype)
        state = start
        for t in range(T):
            new = step(inputs[order[t], samples], state)
            if same_length:
                state = new
            else:
                going = inside[t][:, None]
                state = tuple(np.where(going, after, before) for after, before in zip(new, state, strict=True))
            outputs[order[t], samples] = state[0] if same_length else np.where(going, state[0], 0)
        return outputs, state

    def finish(self, results: list[tuple[Array, State]]) -> tuple[Array, ...]:
        """Y [T, directions, N, H], then every part of the state [directions, N, H]; batch first where asked for."""
        Y = np.stack([outputs for outputs, _ in results], axis=1)
        states = [np.stack(parts) for parts in zip(*(state for _, state in results), strict=True)]
        if self.batch_first:
            Y = Y.transpose(2, 0, 1, 3)
            states = [s.swapaxes(0, 1) for s in states]
        return tuple(restore(value, self.like) for value in (Y, *states))


@op("RNN", since=7)
def RNN(
    X: Array,
    W: Array,
    R: Array,
    B: Array | None = None,
    sequence_lens: Array | None = None,
    initial_h: Array | None = None,
    *,
    activation_alpha: Sequence[float] | None = None,
    activation_beta: Sequence[float] | None = None,
    activations: Sequence[str] | None = None,
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int = 0,
    layout: int = 0,
) -> tuple[Array, ...]:
    """Simple recurrence: h = f(x W + h R + b).

    Spec: https://onnx.ai/onnx/operators/onnx__RNN.html, opset 7+; layout from 14.

    Args:
        X: [T, N, I] (layout 1: [N, T, I]).
        W: [directions, H, I]; R: [directions, H, H]; B: [directions, 2 H].
        sequence_lens: int32 [N].
        initial_h: [directions, N, H] (layout 1: [N, directions, H]).
    Returns: Y [T, directions, N, H] (layout 1: [N, T, directions, H]), Y_h in the layout of initial_h.
    """
    layer = _Layer.of(
        X, W, R, B, sequence_lens, gates=1, activations=activations, defaults=("Tanh",), clip=clip,
        activation_alpha=activation_alpha, activation_beta=activation_beta, direction=direction, layout=layout,
    )  # fmt: skip
    results = []
    for d, (f,) in enumerate(layer.functions):
        weights = layer.R[d].T
        inputs = product(layer.X, layer.W[d].T) + layer.B[d].reshape(2, -1).sum(axis=0)

        def step(x: Array, state: State, f: Activation = f, weights: Array = weights) -> State:
            return (f(layer.clipped(x + product(state[0], weights))),)

        results.append(layer.run(d, inputs, (layer.initial(initial_h, d),), step))
    return layer.finish(results)


@op("GRU", since=7)
def GRU(
    X: Array,
    W: Array,
    R: Array,
    B: Array | None = None,
    sequence_lens: Array | None = None,
    initial_h: Array | None = None,
    *,
    activation_alpha: Sequence[float] | None = None,
    activation_beta: Sequence[float] | None = None,
    activations: Sequence[str] | None = None,
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int = 0,
    layout: int = 0,
    linear_before_reset: int = 0,
) -> tuple[Array, ...]:
    """Gated recurrent unit; gates in the order update, reset, hidden.

    Spec: https://onnx.ai/onnx/operators/onnx__GRU.html, opset 7+; layout from 14.

    Args:
        X: [T, N, I] (layout 1: [N, T, I]).
        W: [directions, 3 H, I]; R: [directions, 3 H, H]; B: [directions, 6 H].
        linear_before_reset: multiply by the reset gate after the hidden gate's matrix product, not before.
    Returns: Y and Y_h as `RNN`.
    """
    layer = _Layer.of(
        X, W, R, B, sequence_lens, gates=3, activations=activations, defaults=("Sigmoid", "Tanh"), clip=clip,
        activation_alpha=activation_alpha, activation_beta=activation_beta, direction=direction, layout=layout,
    )  # fmt: skip
    H = layer.R.shape[2]
    results = []
    for d, (f, g) in enumerate(layer.functions):
        b_in, b_state = layer.B[d].reshape(2, 3 * H)
        inputs = product(layer.X, layer.W[d].T) + b_in

        def step(
            x: Array, state: State, R: Array = layer.R[d].T, b: Array = b_state, f: Activation = f, g: Activation = g
        ) -> State:
            h = state[0]
            gates = layer.clipped(x[:, : 2 * H] + product(h, R[:, : 2 * H]) + b[: 2 * H])
            z, r = f(gates[:, :H]), f(gates[:, H:])
            if linear_before_reset:
                hidden = x[:, 2 * H :] + r * (product(h, R[:, 2 * H :]) + b[2 * H :])
            else:
                hidden = x[:, 2 * H :] + product(r * h, R[:, 2 * H :]) + b[2 * H :]
            hidden = g(layer.clipped(hidden))
            return ((1 - z) * hidden + z * h,)

        results.append(layer.run(d, inputs, (layer.initial(initial_h, d),), step))
    return layer.finish(results)


@op("LSTM", since=7)
def LSTM(
    X: Array,
    W: Array,
    R: Array,
    B: Array | None = None,
    sequence_lens: Array | None = None,
    initial_h: Array | None = None,
    initial_c: Array | None = None,
    P: Array | None = None,
    *,
    activation_alpha: Sequence[float] | None = None,
    activation_beta: Sequence[float] | None = None,
    activations: Sequence[str] | None = None,
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int = 0,
    input_forget: int = 0,
    layout: int = 0,
) -> tuple[Array, ...]:
    """Long short-term memory; gates in the order input, output, forget, cell.

    Spec: https://onnx.ai/onnx/operators/onnx__LSTM.html, opset 7+; layout from 14.

    Args:
        X: [T, N, I] (layout 1: [N, T, I]).
        W: [directions, 4 H, I]; R: [directions, 4 H, H]; B: [directions, 8 H].
        P: [directions, 3 H], peepholes of input, output and forget gate.
        input_forget: couple the gates: what is not kept is taken in.
    Returns: Y, Y_h as `RNN`, and Y_c in the layout of Y_h.
    """
    layer = _Layer.of(
        X, W, R, B, sequence_lens, gates=4, activations=activations, defaults=("Sigmoid", "Tanh", "Tanh"), clip=clip,
        activation_alpha=activation_alpha, activation_beta=activation_beta, direction=direction, layout=layout,
    )  # fmt: skip
    H = layer.R.shape[2]
    peepholes = np.zeros((len(layer.reverse), 3 * H), dtype=layer.X.dtype) if P is None else wide(P)
    results = []
    for d, (f, g, h) in enumerate(layer.functions):
        inputs = product(layer.X, layer.W[d].T) + layer.B[d].reshape(2, -1).sum(axis=0)
        p_in, p_out, p_forget = peepholes[d].reshape(3, H)

        def step(
            x: Array, state: State, R: Array = layer.R[d].T, p: State = (p_in, p_out, p_forget),
            f: Activation = f, g: Activation = g, h: Activation = h,
        ) -> State:  # fmt: skip
            hidden, cell = state
            gates = x + product(hidden, R)
            i = f(layer.clipped(gates[:, :H] + p[0] * cell))
            forget = 1 - i if input_forget else f(layer.clipped(gates[:, 2 * H : 3 * H] + p[2] * cell))
            cell = forget * cell + i * g(layer.clipped(gates[:, 3 * H :]))
            o = f(layer.clipped(gates[:, H : 2 * H] + p[1] * cell))
            return o * h(cell), cell

        start = (layer.initial(initial_h, d), layer.initial(initial_c, d))
        results.append(layer.run(d, inputs, start, step))
    return layer.finish(results)
