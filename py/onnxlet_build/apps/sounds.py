"""Apps that take a sound."""

from onnxlet import InferenceSession
from onnxlet.errors import BuildError, InvalidInput
from onnxlet.tasks import VoiceActivityDetector, features_from_config
from onnxlet.tasks.metadata import PROBLEM_TYPE, names_of

from .draft import Draft, call
from .files import add_example, tone
from .pictures import labels_argument
from .subject import Subject

__all__ = ["classification", "speech"]

_LISTEN = '''\
def listen(sound: Audio, threshold: Annotated[float, Number(min=0.05, max=0.95, step=0.05)] = 0.5) -> tuple[str, Table]:
    """Where in this sound does somebody speak?"""
    speech = detector(sound, threshold)
    spoken_s = sum(end_s - start_s for start_s, end_s in speech)
    rows = [[f"{start_s:.2f}", f"{end_s:.2f}"] for start_s, end_s in speech]
    return f"Speech in {spoken_s:.1f} of {sound.duration_s:.1f} seconds.", Table(["from (s)", "to (s)"], rows)
'''

_CONFIG = "preprocessor_config.json"

_CLASSIFY = '''\
def classify(sound: Audio) -> Labels:
    """What is heard in this sound?"""
    return classifier(sound)
'''


def classification(subject: Subject) -> Draft:
    """A sound in, its classes out."""
    if _CONFIG not in subject.made.files:
        raise BuildError(
            f"{subject.path}: does not say how sounds become its input; put the {_CONFIG} that it was trained with "
            "beside it, and give the folder"
        )
    try:
        features_from_config(subject.json(_CONFIG))
    except InvalidInput as error:
        raise BuildError(f"{subject.path}: {error}") from error
    draft = _with_session(Draft(f"{subject.title}: what is heard in a sound?", _CLASSIFY, "classify"), subject)
    draft.use("json")
    draft.use("onnxlet", "Audio", "Labels")
    draft.use("onnxlet.tasks", "AudioClassifier", "features_from_config")
    draft.files[_CONFIG] = subject.made.files[_CONFIG]
    draft.setup.append(f'config = json.loads((HERE / "{_CONFIG}").read_text(encoding="utf-8"))')
    arguments = ["session", "features=features_from_config(config)"]
    if subject.wanted.labels or not names_of(subject.metadata):
        arguments += labels_argument(draft, subject, subject.classes)
    if subject.ends_with("Softmax", "Sigmoid"):
        arguments.append('function_to_apply="none"')
    elif subject.metadata.get(PROBLEM_TYPE) == "multi_label_classification":
        arguments.append('function_to_apply="sigmoid"')
    draft.setup.append(call("classifier = AudioClassifier", arguments))
    return draft


def speech(subject: Subject) -> Draft:
    """A sound in, where somebody speaks out."""
    try:
        VoiceActivityDetector(InferenceSession(subject.made.data))
    except InvalidInput as error:
        raise BuildError(f"{subject.path}: {error}") from error
    draft = _with_session(Draft(f"{subject.title}: where does somebody speak?", _LISTEN, "listen"), subject)
    draft.use("typing", "Annotated")
    draft.use("onnxlet", "Audio", "Number", "Table")
    draft.use("onnxlet.tasks", "VoiceActivityDetector")
    draft.setup.append("detector = VoiceActivityDetector(session)")
    return draft


def _with_session(draft: Draft, subject: Subject) -> Draft:
    draft.open_session(subject.model)
    add_example(draft, subject, "example.wav", tone, "a tone")
    return draft
