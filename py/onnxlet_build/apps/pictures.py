"""Apps that take a picture."""

from onnxlet.errors import BuildError

from ..sources.yolo import LABELS, detector
from .draft import Draft, call, quoted
from .files import add_example, lines_of, picture
from .images import image_argument, picture_of
from .subject import Subject

__all__ = ["background", "classification", "detection", "labels_argument", "segmentation", "transformation"]

_DETECT = '''\
def detect(image: Image, threshold: Annotated[float, Number(min=0, max=1, step=0.05)] = {threshold}) -> Boxes:
    """Which things are there? Boxes score more than the threshold."""
    return detector(image, threshold)
'''

_SEGMENT = '''\
def segment(image: Image, part: Annotated[int, Number(min=1)] = 1) -> tuple[Mask, Table]:
    """Which part of the picture is what? The mask shows one part; 1 is the largest."""
    segments = segmenter(image)
    rows = [[one.label, f"{one.score:.3f}", f"{one.mask.array.mean():.1%}"] for one in segments]
    return segments[min(part, len(segments)) - 1].mask, Table(["what", "score", "of the picture"], rows)
'''

_CUT_OUT = '''\
def cut_out(image: Image) -> Image:
    """Take the background away."""
    return remover(image)
'''

_TRANSFORM = '''\
def transform(image: Image) -> Image:
    """What does the network make of the picture?"""
    return transformer(image)
'''


def classification(subject: Subject) -> Draft:
    """A picture in, its classes out."""
    arg = picture_of(subject, "image-classification")
    function = 'classifier.function("What is in the picture?")'
    draft = _with_session(Draft(f"{subject.title}: what is in a picture?", "", function), subject)
    draft.use("onnxlet.tasks", "ImageClassifier")
    arguments = ["session", *labels_argument(draft, subject, subject.classes)]
    told = subject.metadata.get("task") == "classify"  # Ultralytics', which are trained on levels of 0 to 1
    arguments += image_argument(draft, subject, arg, "center_crop", 224, imagenet=not told, whole=told)
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
    arguments += [one.replace("labels=", "names=") for one in labels_argument(draft, subject, found.classes)]
    if config:
        arguments += image_argument(draft, subject, subject.signature.inputs[0], "stretch", 640, imagenet=True)
    draft.setup.append(call("detector = ObjectDetector", arguments))
    return draft


def segmentation(subject: Subject) -> Draft:
    """A picture in, a mask of each kind of thing out."""
    arg = picture_of(subject, "image-segmentation")
    draft = _with_session(Draft(f"{subject.title}: which part of a picture is what?", _SEGMENT, "segment"), subject)
    draft.use("typing", "Annotated")
    draft.use("onnxlet", "Image", "Mask", "Number", "Table")
    draft.use("onnxlet.tasks", "ImageSegmenter")
    arguments = ["session", *labels_argument(draft, subject, 0)]
    arguments += image_argument(draft, subject, arg, "stretch", 512, imagenet=False)
    draft.setup.append(call("segmenter = ImageSegmenter", arguments))
    return draft


def background(subject: Subject) -> Draft:
    """A picture in, the same without its background out."""
    arg = picture_of(subject, "background-removal")
    draft = _with_session(Draft(f"{subject.title}: cut out what is in front", _CUT_OUT, "cut_out"), subject)
    draft.use("onnxlet", "Image")
    draft.use("onnxlet.tasks", "BackgroundRemover")
    arguments = ["session", *image_argument(draft, subject, arg, "stretch", 512, imagenet=False)]
    draft.setup.append(call("remover = BackgroundRemover", arguments))
    return draft


def transformation(subject: Subject) -> Draft:
    """A picture in, another out."""
    arg = picture_of(subject, "image-to-image")
    draft = _with_session(Draft(f"{subject.title}: a picture of a picture", _TRANSFORM, "transform"), subject)
    draft.use("onnxlet", "Image")
    draft.use("onnxlet.tasks", "ImageToImage")
    fit = "letterbox" if all(isinstance(side, int) for side in arg.shape[1:]) else "inside"
    arguments = ["session", *image_argument(draft, subject, arg, fit, 1024, imagenet=False)]
    draft.setup.append(call("transformer = ImageToImage", arguments))
    return draft


def _with_session(draft: Draft, subject: Subject) -> Draft:
    """The session, and the pictures to try it with."""
    draft.open_session(subject.model)
    add_example(draft, subject, "example.png", picture, "a drawing")
    return draft


def labels_argument(draft: Draft, subject: Subject, classes: int) -> list[str]:
    """The task's argument with the names of the classes, and the line before it; notes where nobody names them.

    Args:
        classes: how many there are; 0 where nobody knows.
    """
    if not (names := subject.named(classes)):
        draft.notes.append("does not name its classes: labels are numbers; give --labels FILE, a name a line")
        return []
    draft.files[LABELS] = lines_of(names)
    draft.setup.append(f'labels = (HERE / {quoted(LABELS)}).read_text(encoding="utf-8").splitlines()')
    return ["labels=labels"]
