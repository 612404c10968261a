"""Ready-made ways from a visitor's picture to a model's input, and from its outputs to what a page shows.

Names follow Hugging Face's pipelines where they have one: task, label, score, threshold.
"""

from .detection_heads import HEADS, Recognized, recognize
from .image_input import Frame, ImageInput
from .object_detection import ObjectDetector, non_max_suppression
from .speech_segments import Speech, SpeechRules
from .voice_activity import SpeechEvent, VoiceActivityDetector, VoiceStream

__all__ = [
    "HEADS",
    "Frame",
    "ImageInput",
    "ObjectDetector",
    "Recognized",
    "Speech",
    "SpeechEvent",
    "SpeechRules",
    "VoiceActivityDetector",
    "VoiceStream",
    "non_max_suppression",
    "recognize",
]
