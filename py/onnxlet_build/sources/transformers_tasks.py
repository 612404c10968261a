"""The tasks that models of transformers are exported for, and how a configuration tells which one it is."""

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["ALIASES", "LABELLED", "SIDECARS", "TASKS", "Task", "task_of"]


@dataclass(frozen=True, slots=True)
class Task:
    """What a task loads and keeps.

    Args:
        auto: the class of transformers that finds the model's own.
        endings: of the architectures that are made for it.
        outputs: those that are kept; what else a model gives is dropped, and the weights behind it.
        pair: texts come in twos.
    """

    auto: str
    endings: tuple[str, ...]
    outputs: tuple[str, ...] = ("logits",)
    pair: bool = False


_SOUND = ("Wav2Vec2", "Wav2Vec2Conformer", "Wav2Vec2Bert", "Hubert", "WavLM", "UniSpeech", "UniSpeechSat")

TASKS = {
    "audio-classification": Task(  # before texts, as their architectures end alike
        "AutoModelForAudioClassification",
        ("ForAudioClassification", *(f"{name}ForSequenceClassification" for name in _SOUND)),
    ),
    "text-classification": Task("AutoModelForSequenceClassification", ("ForSequenceClassification",)),
    "zero-shot-classification": Task("AutoModelForSequenceClassification", (), pair=True),  # known by its labels
    "token-classification": Task("AutoModelForTokenClassification", ("ForTokenClassification",)),
    "question-answering": Task(
        "AutoModelForQuestionAnswering",
        ("ForQuestionAnswering", "ForQuestionAnsweringSimple"),
        ("start_logits", "end_logits"),
        pair=True,
    ),
    "fill-mask": Task("AutoModelForMaskedLM", ("ForMaskedLM", "WithLMHeadModel")),
    "image-classification": Task(
        "AutoModelForImageClassification", ("ForImageClassification", "ForImageClassificationWithTeacher")
    ),
    "object-detection": Task("AutoModelForObjectDetection", ("ForObjectDetection",), ("logits", "pred_boxes")),
    "image-segmentation": Task("AutoModelForSemanticSegmentation", ("ForSemanticSegmentation",)),
    "feature-extraction": Task("AutoModel", ("Model",), ("last_hidden_state",)),
}
ALIASES = {"sentiment-analysis": "text-classification", "ner": "token-classification"}
LABELLED = {task for task in TASKS if task not in ("question-answering", "fill-mask", "feature-extraction")}

SIDECARS = (  # what a page may need beside the weights
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "preprocessor_config.json",
)


def task_of(architecture: str, labels: Iterable[object]) -> str:
    """What an architecture is made for, by its class's name; "" where that is no task here.

    Args:
        labels: of its classes, since only those tell a model of entailment.
    """
    if architecture.endswith("ForSequenceClassification") and any(
        str(label).lower().startswith("entail") for label in labels
    ):
        return "zero-shot-classification"
    for task, one in TASKS.items():
        # GPT2LMHeadModel writes texts, which is no task here, although its ending is a plain model's.
        if (
            one.endings
            and architecture.endswith(one.endings)
            and not (one.auto == "AutoModel" and "Head" in architecture)
        ):
            return task
    return ""
