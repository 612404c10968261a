"""Image classification: a picture in, labels with scores out."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from ..dtypes import from_ort_type
from ..errors import InvalidInput
from ..session import InferenceSession
from ..values import Image, Labels
from .declared import Declared, declare, described
from .image_input import ImageInput
from .ink_input import InkInput
from .metadata import labels_of
from .scores import labelled
from .steps import Run, Steps, arun, run

__all__ = ["ImageClassifier"]

Apply = Literal["softmax", "sigmoid", "none"]


class ImageClassifier:
    """A classifier that is called with a picture.

    Args:
        session: the model; its first input is the picture, [1, 3, H, W] or [1, H, W, 3], its first output the scores,
            [1, N] (or [1, N, 1, 1], as some exports leave them).
        labels: a name a class, in order, or by number (``id2label``); by default those of the metadata (``names``),
            else the numbers.
        image: how pictures become inputs; by default the middle, at the size that the model's input has (224 x 224
            where that is open), normalized by ImageNet's mean and std as torchvision's models are trained. `InkInput`
            for drawn signs.
        function_to_apply: what makes scores of the outputs: "softmax" where one class is right, "sigmoid" where several
            may be, "none" where the model has done it.
    Raises: InvalidInput: the input is no picture's, or another function.
    """

    def __init__(
        self,
        session: InferenceSession,
        *,
        labels: Sequence[str] | Mapping[int, str] | None = None,
        image: ImageInput | InkInput | None = None,
        function_to_apply: Apply = "softmax",
    ) -> None:
        if function_to_apply not in ("softmax", "sigmoid", "none"):
            raise InvalidInput(
                f'ImageClassifier: function_to_apply is {function_to_apply!r}, expected "softmax", "sigmoid" or "none"'
            )
        self.session = session
        classes = session.get_outputs()[0].shape[1:2]
        self.labels = labels_of(session, labels, classes[0] if classes else None, "ImageClassifier")
        self.image: ImageInput | InkInput = image or ImageInput.of_model(
            session.get_inputs()[0], "center_crop", imagenet=True
        )
        self.function_to_apply = function_to_apply

    def __call__(self, image: Image, top_k: int | None = 5) -> Labels:
        """Name what a picture shows.

        Args:
            top_k: how many labels, the best first; None: all.
        Raises: InvalidInput: the outputs are no scores, hold NaN, or do not go with the labels.
        """
        return run(self._steps(image, top_k))

    async def acall(self, image: Image, top_k: int | None = 5) -> Labels:
        """As a call, for ``async def`` apps."""
        return await arun(self._steps(image, top_k))

    def function(
        self,
        doc: str = "What does the picture show?",
        *,
        name: str = "classify",
        top_k: int | None = 5,
        **picture: Any,
    ) -> Callable[..., Labels]:
        """This classifier as a function for `App`, one that may answer before Python is there (docs/tasks.md).

        Args:
            doc: what the page says of it.
            name: of the function; the page shows it in words.
            top_k: how many labels, the best first; None: all.
            picture: name and annotation of its parameter: ``photo=Image``, or ``drawing=Annotated[Drawing,
                Field(stroke=22)]``; by default ``image=Image``.
        Raises: InvalidInput: more than one parameter.
        """
        if len(picture) > 1:
            raise InvalidInput(f"ImageClassifier.function: expected one picture, got {', '.join(picture)}")
        ((parameter, kind),) = (picture or {"image": Image}).items()
        taken = inspect.Parameter(parameter, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=kind)

        def classify(*args: Any, **kwargs: Any) -> Labels:
            given = inspect.signature(classify).bind(*args, **kwargs).arguments
            return self(given[parameter], top_k)

        declare(classify, Declared(self, top_k))
        return described(classify, name, doc, [taken], Labels)

    def _steps(self, image: Image, top_k: int | None) -> Steps[Labels]:
        x = self.image.tensor(image)
        into, out = self.session.get_inputs()[0], self.session.get_outputs()[0]
        (scores,) = yield Run(self.session, [out.name], {into.name: x.astype(from_ort_type(into.type).numpy)})
        if scores.ndim != 2:
            scores = scores.reshape(len(scores), -1) if scores.shape[2:] == (1,) * (scores.ndim - 2) else scores
        return labelled(scores, self.labels, top_k, self.function_to_apply)

    def __repr__(self) -> str:
        return f"<ImageClassifier of {len(self.labels) or 'unnamed'} classes>"
