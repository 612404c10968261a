"""Where does somebody speak? Silero's detector hears a sound file or the microphone, 32 milliseconds at a time."""

from typing import Annotated

from picture import draw
from recording import Recording

from onnxlet import App, Audio, Field, Image, InferenceSession, Labels, ModelCard, Number, Table, Text
from onnxlet.tasks import VoiceActivityDetector

detector = VoiceActivityDetector(InferenceSession("silero-vad.onnx"))
heard: Recording | None = None


def listen(
    sound: Audio, threshold: Annotated[float, Number(min=0.05, max=0.95, step=0.05)] = 0.5
) -> tuple[
    Annotated[str, Text(label="Speech")],
    Annotated[Image, Field(label="The sound, speech shaded, and how likely it is speech")],
    Annotated[Table, Field(label="From and to, in seconds")],
]:
    """Where in this sound does somebody speak?"""
    probabilities = detector.probabilities(sound)
    speech = detector.segments(sound, probabilities, threshold)
    spoken_s = sum(end_s - start_s for start_s, end_s in speech)
    found = f"Somebody speaks in {spoken_s:.1f} of {sound.duration_s:.1f} seconds." if speech else "Nobody speaks here."
    rows = [[number, f"{start_s:.2f}", f"{end_s:.2f}"] for number, (start_s, end_s) in enumerate(speech, 1)]
    return found, draw(sound, probabilities, speech), Table(["speech", "from", "to"], rows)


def hear_live(
    sound: Annotated[Audio, Field(chunk_s=0.2, sources=["microphone"])],
) -> tuple[Annotated[Labels, Field(label="Now")], Annotated[Image, Field(label="The last ten seconds")]]:
    """Does somebody speak now?"""
    global heard
    if heard is None or sound.start_s == 0:  # a new recording
        heard = Recording(detector, sound.sample_rate_hz)
    likely = heard.add(sound)
    picture = draw(heard.sound, heard.probabilities, heard.speech())
    return Labels.from_scores([likely, 1 - likely], names=["speech", "no speech"]), picture


app = App(
    listen,
    hear_live,
    live=["hear_live"],
    title="Voice",
    description="Silero's voice activity detector finds where somebody speaks in a sound file, or while you talk. "
    "It hears 32 milliseconds at a time and remembers what came before, so it tells speech from other noise.",
    examples=["two-voices.wav", "noise.wav"],  # made here: the voices by espeak-ng 1.51, the noise by numpy
    card=ModelCard(
        "Silero VAD 6.2.3, 16 kHz",
        source="silero-vad on PyPI",
        licence="MIT",
        trained_on="speech in more than 6000 languages and noise, as its authors say",
        limits="Hears that somebody speaks, not who or what. Singing, far voices and a loud background mislead it.",
    ),
)
