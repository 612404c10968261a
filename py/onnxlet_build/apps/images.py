"""The line of an app that says how pictures become inputs: as the model's folder or the options say, else assumed."""

from collections.abc import Sequence

from onnxlet.dtypes import from_ort_type
from onnxlet.errors import BuildError, InvalidInput
from onnxlet.source import NodeArg
from onnxlet.tasks import ImageInput

from .draft import Draft, call
from .options import numbers, sides
from .subject import Subject

__all__ = ["OPTIONS", "image_argument", "picture_of"]

OPTIONS = ("image_size", "mean", "std")
_CONFIG = "preprocessor_config.json"
_LEVELS = {"mean": "[0.485, 0.456, 0.406]", "std": "[0.229, 0.224, 0.225]"}  # ImageNet's, red first

_FITS = {
    "center_crop": "the middle of the picture",
    "stretch": "the whole picture, stretched",
    "letterbox": "the whole picture between margins",
    "inside": "the picture as it is, or smaller",
}


def picture_of(subject: Subject, task: str) -> NodeArg:
    """The input that is a picture.

    Raises: BuildError: there is none.
    """
    if subject.picture is None:
        inputs = ", ".join(f"{arg.name} {list(arg.shape)}" for arg in subject.signature.inputs)
        raise BuildError(
            f"{subject.path}: takes no picture, which {task} needs (inputs: {inputs}); say another --task, or none"
        )
    return subject.picture


def image_argument(
    draft: Draft, subject: Subject, arg: NodeArg, fit: str, side: int, *, imagenet: bool, whole: bool = False
) -> list[str]:
    """The task's argument ``image=``, and the lines before it.

    Args:
        arg: the input that is a picture.
        fit: of pictures that the model says nothing of, as `ImageInput` names it; side: of theirs, in pixels.
        imagenet: whether models of this kind are trained on ImageNet's mean and std.
        whole: whether a crop takes all of the shorter side; else seven eighths, as torchvision does.
    """
    wanted = subject.wanted
    draft.use("onnxlet.tasks", "ImageInput")
    if _CONFIG in subject.made.files and not any(getattr(wanted, name) for name in OPTIONS):
        return _as_configured(draft, subject)
    width, height = _size(subject, arg.shape, side)
    arguments = [f"({width}, {height})", f'"{fit}"']
    if fit == "center_crop" and width == height:
        arguments.append(f"edge={width if whole else width * 8 // 7}")  # 256 for 224
    levels = {name: _number(subject, name) for name in ("mean", "std") if getattr(wanted, name)}
    integers = from_ort_type(arg.type).numpy.kind in "iu"
    grey = 1 in (arg.shape[1], arg.shape[3]) and 3 not in (arg.shape[1], arg.shape[3])
    if integers:
        arguments.append("rescale=1.0")  # such models normalize inside
    elif imagenet and not grey:
        levels = {**_LEVELS, **levels}
    arguments += [f"{name}={value}" for name, value in levels.items()]
    arguments.append("antialias=True")
    arguments += ['layout="NHWC"'] if _last(arg.shape) else []
    arguments += ["channels=1"] if grey else []
    unsaid = [name for name in ("mean", "std") if name in levels and not getattr(wanted, name)]
    open_size = not wanted.image_size and not all(isinstance(size, int) for size in arg.shape[1:])
    assumed = [f"{width} x {height} pixels"] if open_size else []
    assumed += ["ImageNet's mean and std"] if unsaid else []
    assumed += [] if levels or integers or whole else ["levels of 0 to 1"]
    if assumed:
        assumed.append(_FITS[fit])
        draft.notes.append(
            f"does not say how it wants its pictures; assumed: {', '.join(assumed)}. Say otherwise with --image-size, "
            "--mean and --std, or in the app"
        )
        draft.setup.append("# Assumed, since the model does not say it: see how it was trained.")
    draft.setup.append(call("image = ImageInput", arguments))
    return ["image=image"]


def _as_configured(draft: Draft, subject: Subject) -> list[str]:
    try:
        ImageInput.from_config(subject.json(_CONFIG))
    except InvalidInput as error:
        raise BuildError(f"{subject.path}: {error}, or --image-size") from error
    draft.use("json")
    draft.files[_CONFIG] = subject.made.files[_CONFIG]
    draft.setup.append(f'config = json.loads((HERE / "{_CONFIG}").read_text(encoding="utf-8"))')
    return ["image=ImageInput.from_config(config)"]


def _last(shape: Sequence[int | str | None]) -> bool:
    return shape[3] in (1, 3) and shape[1] not in (1, 3)


def _size(subject: Subject, shape: Sequence[int | str | None], side: int) -> tuple[int, int]:
    """(width, height): the model's own, else --image-size, else squares of `side`."""
    height, width = shape[1:3] if _last(shape) else shape[2:4]
    said = sides(subject.wanted.image_size) if subject.wanted.image_size else None
    if isinstance(width, int) and isinstance(height, int):
        if said not in (None, (width, height)):
            raise BuildError(
                f"--image-size {subject.wanted.image_size}: the model takes {width}x{height}; leave the option out"
            )
        return width, height
    return said or (side, side)


def _number(subject: Subject, name: str) -> str:
    found = [int(number) if number.is_integer() else number for number in numbers(getattr(subject.wanted, name), name)]
    return str(found[0] if len(found) == 1 else found)
