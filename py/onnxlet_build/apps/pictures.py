"""Apps that take a picture."""

from collections.abc import Sequence

from onnxlet.errors import BuildError
from onnxlet.source import NodeArg

from ..sources.yolo import LABELS, detector
from .draft import Draft, call, quoted
from .files import add_examples, lines_of, picture
from .options import numbers, sides
from .subject import Subject

__all__ = ["classification", "detection"]

_IMAGENET = ("[0.485, 0.456, 0.406]", "[0.229, 0.224, 0.225]")
_SIDE = 224

_CLASSIFY = '''\
def classify(image: Image) -> Labels:
    """What is in the picture?"""
    return classifier(image)
'''

_DETECT = '''\
def detect(image: Image, threshold: Annotated[float, Number(min=0, max=1, step=0.05)] = {threshold}) -> Boxes:
    """Which things are there? Boxes score more than the threshold."""
    return detector(image, threshold)
'''


def classification(subject: Subject) -> Draft:
    """A picture in, its classes out."""
    arg = _picture(subject, "image-classification")
    draft = _with_session(Draft(f"{subject.title}: what is in a picture?", _CLASSIFY, "classify"), subject)
    draft.use("onnxlet", "Image", "Labels")
    draft.use("onnxlet.tasks", "ImageClassifier")
    arguments = ["session", *_labels(draft, subject, subject.classes), *_image(draft, subject, arg.shape)]
    if subject.ends_with("Softmax", "Sigmoid"):
        arguments.append('function_to_apply="none"')
    draft.setup.append(call("classifier = ImageClassifier", arguments))
    return draft


def detection(subject: Subject) -> Draft:
    """A picture in, boxes out."""
    found = detector(subject.made)
    if found is None:
        shapes = ", ".join(f"{arg.name} {list(arg.shape)}" for arg in subject.signature.outputs)
        raise BuildError(
            f"{subject.path}: is no detector with a head that is known here (outputs: {shapes}); write an app file "
            "that decodes them, from onnxlet.Boxes"
        )
    config = "preprocessor_config.json" in subject.made.files
    function = _DETECT.format(threshold=0.5 if config else 0.25)
    draft = _with_session(Draft(f"{subject.title}: find things in a picture", function, "detect"), subject)
    draft.use("typing", "Annotated")
    draft.use("onnxlet", "Boxes", "Image", "Number")
    draft.use("onnxlet.tasks", "ObjectDetector")
    arguments = ["session", f'head="{found.head}"']
    arguments += [argument.replace("labels=", "names=") for argument in _labels(draft, subject, found.classes)]
    if config:
        arguments += _image(draft, subject, ())
    draft.setup.append(call("detector = ObjectDetector", arguments))
    return draft


def _with_session(draft: Draft, subject: Subject) -> Draft:
    """The session, and the pictures to try it with."""
    draft.use("pathlib", "Path")
    draft.use("onnxlet", "InferenceSession")
    draft.setup += ["HERE = Path(__file__).parent", f"session = InferenceSession(HERE / {quoted(subject.model)})"]
    if subject.wanted.example:
        add_examples(draft, subject.wanted.example)
    else:
        draft.examples.append("example.png")
        draft.files["example.png"] = picture()
        draft.notes.append(
            "its example is a drawing; give pictures of yours by --example, which variants are judged by"
        )
    return draft


def _picture(subject: Subject, task: str) -> NodeArg:
    if subject.picture is None:
        inputs = ", ".join(f"{arg.name} {list(arg.shape)}" for arg in subject.signature.inputs)
        raise BuildError(
            f"{subject.path}: takes no picture, which {task} needs (inputs: {inputs}); say another --task, or none"
        )
    return subject.picture


def _labels(draft: Draft, subject: Subject, classes: int) -> list[str]:
    """The task's argument with the names of the classes; notes where nobody names them."""
    if not (names := subject.named(classes)):
        draft.notes.append("does not name its classes: labels are numbers; give --labels FILE, a name a line")
        return []
    draft.files[LABELS] = lines_of(names)
    draft.setup.append(f'labels = (HERE / "{LABELS}").read_text(encoding="utf-8").splitlines()')
    return ["labels=labels"]


def _image(draft: Draft, subject: Subject, shape: Sequence[int | str | None]) -> list[str]:
    """The task's argument that says how pictures become inputs: as the folder says, else as most models have it."""
    wanted = subject.wanted
    draft.use("onnxlet.tasks", "ImageInput")
    said = [name for name in ("image_size", "mean", "std") if getattr(wanted, name)]
    if "preprocessor_config.json" in subject.made.files and not said:
        draft.use("json")
        draft.files["preprocessor_config.json"] = subject.made.files["preprocessor_config.json"]
        draft.setup.append('config = json.loads((HERE / "preprocessor_config.json").read_text(encoding="utf-8"))')
        return ["image=ImageInput.from_config(config)"]
    sizes = shape[1:3] if shape[-1] in (1, 3) and shape[1] not in (1, 3) else shape[2:4]
    own = isinstance(sizes[0], int) and isinstance(sizes[1], int)
    width, height = (sizes[1], sizes[0]) if own else (_SIDE, _SIDE)
    if wanted.image_size:
        given = sides(wanted.image_size)
        if own and given != (width, height):
            raise BuildError(
                f"--image-size {wanted.image_size}: the model takes {width}x{height}; leave the option out"
            )
        width, height = given
    mean, std = (
        str(list(numbers(text, name))) if text else usual
        for text, name, usual in zip((wanted.mean, wanted.std), ("mean", "std"), _IMAGENET, strict=True)
    )
    assumed = [] if own or wanted.image_size else [f"pictures of {width} x {height}"]
    assumed += [] if wanted.mean else [f"mean {mean}"]
    assumed += [] if wanted.std else [f"std {std}"]
    if assumed:
        draft.notes.append(
            f"does not say how it wants its pictures: assumed {', '.join(assumed)}, as ImageNet's models have it; say "
            "otherwise with --image-size, --mean and --std, or in the app"
        )
        draft.setup.append("# Assumed, since the model does not say it: as most models of ImageNet have it.")
    arguments = [f"({width}, {height})", 'fit="stretch"', f"mean={mean}", f"std={std}"]
    draft.setup.append(call("image = ImageInput", arguments))
    return ["image=image"]
