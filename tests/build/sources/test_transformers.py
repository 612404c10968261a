"""Hugging Face models, made small from their configurations and saved as a trained one is, tokenizer included."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

from onnxlet.errors import BuildError
from onnxlet.source import ModelSource
from onnxlet.tasks.metadata import names_of
from onnxlet_build import fetch
from onnxlet_build.sources import Export, export, open_file
from onnxlet_build.sources.transformers import Transformers, padding_matters, reaches_hub, takes_file

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

VOCABULARY = """
[PAD] [UNK] [CLS] [SEP] [MASK] the quick brown fox jump ##s ##ed over lazy dog cat nobody somebody mind what do ##es is
asleep and , . a b c d e f g h i j k l m n o p q r s t u v w x y z
"""
WORDS = VOCABULARY.split()
SMALL = {
    "vocab_size": len(WORDS),
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 64,
}
Save = Callable[..., Path]


def tokenizer(pad: str = "[PAD]", types: bool = False) -> Any:
    """A WordPiece tokenizer of these words, as BERT's."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    built = Tokenizer(models.WordPiece({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    built.normalizer = normalizers.BertNormalizer()
    built.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    built.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    special = {"unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"}
    names = ["input_ids", "token_type_ids", "attention_mask"][:: 1 if types else 2]
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=built, pad_token=pad, model_input_names=names, **special
    )


@pytest.fixture(scope="module")
def save(tmp_path_factory: pytest.TempPathFactory) -> Save:
    """A function that saves a model of random weights, and what goes with it; it returns the folder."""
    torch.set_num_threads(1)

    def saved(auto: str, config: Any, *processors: Any, **preprocessor: Any) -> Path:
        torch.manual_seed(0)
        folder = tmp_path_factory.mktemp("model")
        model = getattr(transformers, auto).from_config(config)
        with torch.no_grad():  # fresh heads are so near to zero that a wrong row would hardly show
            for parameter in model.parameters():
                parameter.mul_(3)
        model.save_pretrained(folder)
        for one in processors:
            one.save_pretrained(folder)
        if preprocessor:
            (folder / "preprocessor_config.json").write_text(json.dumps(preprocessor))
        return folder

    return saved


def session(made: Export) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(made.data, options, providers=["CPUExecutionProvider"])


def shapes(made: Export) -> dict[str, list[Any]]:
    opened = session(made)
    return {arg.name: arg.shape for arg in (*opened.get_inputs(), *opened.get_outputs())}


@pytest.fixture(scope="module")
def nli(save: Save) -> tuple[Path, Export]:
    labels = {0: "contradiction", 1: "neutral", 2: "entailment"}
    config = transformers.BertConfig(**SMALL, id2label=labels, label2id={name: i for i, name in labels.items()})
    folder = save("AutoModelForSequenceClassification", config, tokenizer(types=True))
    return folder, export(folder, "nli.onnx")


def test_a_classifier_of_pairs_is_exported_with_its_tokenizer_and_labels(nli: tuple[Path, Export]) -> None:
    folder, made = nli
    free = ["batch", "sequence"]
    assert shapes(made) == {"input_ids": free, "token_type_ids": free, "attention_mask": free, "logits": ["batch", 3]}
    assert "is exported for zero-shot-classification" in made.notes
    assert "agrees with PyTorch 2.13" in made.verified
    assert "padded batch answer as alone" in made.verified
    assert made.files["labels.txt"] == b"contradiction\nneutral\nentailment\n"
    for name in ("tokenizer.json", "tokenizer_config.json", "config.json"):
        assert made.files[name] == (folder / name).read_bytes()


def test_the_model_itself_says_what_it_is_for(nli: tuple[Path, Export]) -> None:
    """By which a task needs no options, and the build no --task."""
    told = session(nli[1]).get_modelmeta().custom_metadata_map
    assert told["onnxlet.task"] == "zero-shot-classification"
    assert names_of(told) == ("contradiction", "neutral", "entailment")
    assert told["onnxlet.max_length"] == "64"  # the positions that its configuration has
    ours = ModelSource(nli[1].data).signature().metadata.custom_metadata_map
    assert ours == told


def test_each_row_of_a_padded_batch_gets_the_answer_of_its_own_text(nli: tuple[Path, Export]) -> None:
    """Against transformers itself, one text at a time, without any padding."""
    folder, made = nli
    pairs = [("the quick brown fox jumps", "the fox jumped"), ("nobody minds", "a cat is asleep and the dog minds")]
    words = transformers.AutoTokenizer.from_pretrained(folder)
    batch = words([a for a, _ in pairs], [b for _, b in pairs], padding=True)
    assert 0 in np.ravel(batch["attention_mask"])
    (logits,) = session(made).run(["logits"], {key: np.array(value, np.int64) for key, value in batch.items()})
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.no_grad():
        alone = [model(**words(*pair, return_tensors="pt")).logits[0].numpy() for pair in pairs]
    np.testing.assert_allclose(logits, alone, rtol=1e-4, atol=1e-5)
    assert np.abs(alone[0] - alone[1]).max() > 1e-2  # rows that were mixed up would show


def test_a_model_whose_padding_leaks_is_told(nli: tuple[Path, Export]) -> None:
    """The same export without the mask: every place looks at the padding."""
    _, made = nli
    batch = {key: np.repeat(value[:1], 2, 0) for key, value in made.samples[0].items()}
    batch["attention_mask"][1, 5:] = 0
    assert padding_matters(made.data, batch, "nli.onnx") == ""
    import onnx

    proto = onnx.load_model_from_string(made.data)
    ones = onnx.helper.make_node("Max", ["attention_mask", "onnxlet_one"], ["onnxlet_mask"])
    for node in proto.graph.node:
        node.input[:] = ["onnxlet_mask" if name == "attention_mask" else name for name in node.input]
    proto.graph.node.insert(0, ones)
    proto.graph.initializer.append(onnx.numpy_helper.from_array(np.array(1), "onnxlet_one"))
    assert padding_matters(proto.SerializeToString(), batch, "nli.onnx").endswith(" dB")


def test_positions_that_are_counted_from_the_ids_skip_padding(save: Save) -> None:
    """RoBERTa counts positions over tokens that are not padding; its own padding id is 1, not 0."""
    config = transformers.RobertaConfig(**SMALL, pad_token_id=1, type_vocab_size=1)
    made = export(save("AutoModelForMaskedLM", config, tokenizer(pad="[UNK]")), "mask.onnx")
    assert shapes(made)["logits"] == ["batch", "sequence", len(WORDS)]
    assert "padded batch answer as alone" in made.verified
    assert "labels.txt" not in made.files
    told = session(made).get_modelmeta().custom_metadata_map
    assert told == {"onnxlet.task": "fill-mask", "onnxlet.max_length": "62"}  # positions 0 and 1 are padding's
    sample = made.samples[0]
    assert (sample["input_ids"] == WORDS.index("[MASK]")).any(1).all()


def test_a_loaded_model_needs_no_folder_and_questions_have_two_outputs() -> None:
    sizes = {"dim": 32, "n_layers": 1, "n_heads": 4, "hidden_dim": 48, "max_position_embeddings": 64}
    config = transformers.DistilBertConfig(vocab_size=len(WORDS), **sizes)
    model = transformers.DistilBertForQuestionAnswering(config).eval()
    made = export(Transformers(model, "question-answering", tokenizer()), "qa.onnx")
    free = ["batch", "sequence"]
    assert shapes(made) == dict.fromkeys(["input_ids", "attention_mask", "start_logits", "end_logits"], free)
    assert {"config.json", "tokenizer.json"} <= set(made.files)


def test_pictures_are_classified_at_the_size_of_the_preprocessor(save: Save) -> None:
    config = transformers.ViTConfig(
        hidden_size=32, num_hidden_layers=1, num_attention_heads=4, intermediate_size=48, image_size=32, patch_size=8
    )
    preprocessor = {"size": {"height": 32, "width": 32}, "image_mean": [0.5] * 3, "image_std": [0.5] * 3}
    made = export(save("AutoModelForImageClassification", config, **preprocessor), "vit.onnx")
    assert shapes(made) == {"pixel_values": ["batch", 3, 32, 32], "logits": ["batch", 2]}
    assert json.loads(made.files["preprocessor_config.json"]) == preprocessor


@pytest.mark.parametrize(
    ("architecture", "task"),
    [
        ("DebertaV2ForTokenClassification", "is exported for token-classification"),
        ("GPT2LMHeadModel", "architecture GPT2LMHeadModel; say what it is for"),
        ("", "without an architecture; say what it is for"),
    ],
)
def test_the_architecture_says_the_task(architecture: str, task: str) -> None:
    from onnxlet_build.sources.transformers import _task_of

    config = transformers.BertConfig(architectures=[architecture] if architecture else None)
    try:
        said = f"is exported for {_task_of(config, 'm.onnx')}"
    except BuildError as error:
        said = str(error)
    assert task in said


def test_a_head_without_weights_is_refused(nli: tuple[Path, Export]) -> None:
    """transformers itself would go on with random ones."""
    with pytest.raises(
        BuildError, match=r"no weights for qa_outputs\.bias \(2 missing\), which question-answering needs"
    ):
        export(Transformers(nli[0], "question-answering"), "qa.onnx")


def test_an_unknown_task_names_the_known_ones() -> None:
    with pytest.raises(BuildError, match='task "translation" is not known; known are audio-classification, text-'):
        export(Transformers("x/y", "translation"), "t.onnx")


def test_a_damaged_folder_is_a_sentence(nli: tuple[Path, Export], tmp_path: Path) -> None:
    (tmp_path / "config.json").write_bytes((nli[0] / "config.json").read_bytes())
    (tmp_path / "model.safetensors").write_bytes(b"\x00" * 20)
    with pytest.raises(BuildError, match="transformers cannot load it"):
        export(tmp_path, "m.onnx")


def test_a_hub_id_without_network_is_a_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(fetch, "offline", True)
    monkeypatch.chdir(tmp_path)
    assert open_file("onnxlet/no-such-model") == Transformers("onnxlet/no-such-model")
    with pytest.raises(BuildError, match=r"cannot be had from the Hugging Face hub \(--offline forbids"):
        export("onnxlet/no-such-model", "m.onnx")


def test_a_hub_that_does_not_answer_is_asked_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.chdir(tmp_path)
    reaches_hub.cache_clear()
    try:
        with pytest.raises(BuildError, match=r"cannot be had from the Hugging Face hub \(no answer\); check the name"):
            export("onnxlet/no-such-model", "m.onnx")
    finally:
        reaches_hub.cache_clear()
    assert "Retry" not in capfd.readouterr().err


def test_paths_are_no_hub_ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "examples").mkdir()
    monkeypatch.chdir(tmp_path)
    assert not takes_file(Path("examples/digit"))
    assert not takes_file(Path("models/missing.onnx"))
    assert not takes_file(Path("a/b/c"))
    assert not takes_file(tmp_path)
    assert takes_file(Path("Qwen/Qwen2.5-0.5B"))
