"""Apps that take a sound."""

from onnxlet import InferenceSession
from onnxlet.errors import BuildError, InvalidInput
from onnxlet.tasks import VoiceActivityDetector

from .draft import Draft
from .files import add_examples, tone
from .subject import Subject

__all__ = ["speech"]

_LISTEN = '''\
def listen(sound: Audio, threshold: Annotated[float, Number(min=0.05, max=0.95, step=0.05)] = 0.5) -> tuple[str, Table]:
    """Where in this sound does somebody speak?"""
    speech = detector(sound, threshold)
    spoken_s = sum(end_s - start_s for start_s, end_s in speech)
    rows = [[f"{start_s:.2f}", f"{end_s:.2f}"] for start_s, end_s in speech]
    return f"Speech in {spoken_s:.1f} of {sound.duration_s:.1f} seconds.", Table(["from (s)", "to (s)"], rows)
'''


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
    if subject.wanted.example:
        add_examples(draft, subject.wanted.example)
    else:
        draft.examples.append("example.wav")
        draft.files["example.wav"] = tone()
        draft.notes.append("its example is a tone; give your own by --example, which variants are judged by")
    return draft
