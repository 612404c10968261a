"""Ready-made ways from what a visitor gives to a model's input, and from its outputs to what a page shows.

Names follow Hugging Face's pipelines where they have one: task, label, score, threshold.
"""

from typing import TYPE_CHECKING

from ..lazy import names_of

if TYPE_CHECKING:
    from .audio_classification import AudioClassifier
    from .audio_features import LogMel, Waveform, features_from_config
    from .background_removal import BackgroundRemover
    from .detection_heads import HEADS, Recognized, recognize
    from .feature_extraction import FeatureExtractor, SemanticSearch
    from .features import Feature, feature_form, read_features
    from .file_type import FileType, FileTypeDetector
    from .fill_mask import Fill, Fills, MaskFiller
    from .image_classification import ImageClassifier
    from .image_input import Frame, ImageInput
    from .image_segmentation import ImageSegmenter, Segment
    from .image_to_image import ImageToImage
    from .ink_input import InkInput
    from .object_detection import ObjectDetector, non_max_suppression
    from .question_answering import QuestionAnswerer
    from .speech_segments import Speech, SpeechRules
    from .tabular import TabularPredictor
    from .text_classification import TextClassifier
    from .text_reading import Line, TextReader
    from .token_classification import TokenClassifier
    from .voice_activity import SpeechEvent, VoiceActivityDetector, VoiceStream
    from .zero_shot import EmbeddingClassifier, ZeroShotClassifier
else:
    __getattr__, __dir__ = names_of(
        __name__,
        {
            "audio_classification": "AudioClassifier",
            "audio_features": "LogMel Waveform features_from_config",
            "background_removal": "BackgroundRemover",
            "detection_heads": "HEADS Recognized recognize",
            "feature_extraction": "FeatureExtractor SemanticSearch",
            "features": "Feature feature_form read_features",
            "file_type": "FileType FileTypeDetector",
            "fill_mask": "Fill Fills MaskFiller",
            "image_classification": "ImageClassifier",
            "image_input": "Frame ImageInput",
            "image_segmentation": "ImageSegmenter Segment",
            "image_to_image": "ImageToImage",
            "ink_input": "InkInput",
            "object_detection": "ObjectDetector non_max_suppression",
            "question_answering": "QuestionAnswerer",
            "speech_segments": "Speech SpeechRules",
            "tabular": "TabularPredictor",
            "text_classification": "TextClassifier",
            "text_reading": "Line TextReader",
            "token_classification": "TokenClassifier",
            "voice_activity": "SpeechEvent VoiceActivityDetector VoiceStream",
            "zero_shot": "EmbeddingClassifier ZeroShotClassifier",
        },
    )

__all__ = [
    "HEADS",
    "AudioClassifier",
    "BackgroundRemover",
    "EmbeddingClassifier",
    "Feature",
    "FeatureExtractor",
    "FileType",
    "FileTypeDetector",
    "Fill",
    "Fills",
    "Frame",
    "ImageClassifier",
    "ImageInput",
    "ImageSegmenter",
    "ImageToImage",
    "InkInput",
    "Line",
    "LogMel",
    "MaskFiller",
    "ObjectDetector",
    "QuestionAnswerer",
    "Recognized",
    "Segment",
    "SemanticSearch",
    "Speech",
    "SpeechEvent",
    "SpeechRules",
    "TabularPredictor",
    "TextClassifier",
    "TextReader",
    "TokenClassifier",
    "VoiceActivityDetector",
    "VoiceStream",
    "Waveform",
    "ZeroShotClassifier",
    "feature_form",
    "features_from_config",
    "non_max_suppression",
    "read_features",
    "recognize",
]
