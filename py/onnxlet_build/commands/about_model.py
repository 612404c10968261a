"""The options that say of a model what an app file would: its task, labels, pictures, examples."""

import argparse
from pathlib import Path

from ..apps import TASKS, Wanted

__all__ = ["describe", "wanted"]


def describe(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    group = parser.add_argument_group(
        "a model without an app file",
        "An app is written for it, and kept beside --out for you to edit. Mostly the model's files tell its task.",
    )
    group.add_argument("--task", default="", metavar="NAME", help="what the model is for: one of those below")
    for name, metavar, text in (
        ("labels", "FILE", "names of the classes: a name a line, or JSON (a list, number -> name, a config.json)"),
        ("tokenizer", "FILE", "tokenizer.json or vocab.txt, where none lies beside the model"),
        ("corpus", "FILE", "feature-extraction: texts to search in, one a line"),
        ("features", "FILE", "tabular tasks: a CSV file with the model's columns, for names and ranges"),
        ("recognizer", "FILE", "ocr: the model that reads a line"),
        ("characters", "FILE", "ocr: the characters that it knows, one a line"),
    ):
        if any(name in task.takes for task in TASKS.values()):
            group.add_argument(f"--{name}", type=Path, metavar=metavar, help=text)
    group.add_argument("--image-size", default="", metavar="WxH", help="of the pictures that the model takes")
    group.add_argument("--mean", default="", metavar="R,G,B", help="taken off pictures of 0 to 1 (default: ImageNet's)")
    group.add_argument("--std", default="", metavar="R,G,B", help="that they are divided by (default: ImageNet's)")
    group.add_argument(
        "--example",
        nargs="+",
        action="extend",
        default=[],
        metavar="FILE",
        help="for visitors to try; texts for tasks on texts",
    )


def wanted(options: argparse.Namespace) -> Wanted:
    """What the options say. A title of one app is its own, of several the gallery's."""
    names = [name for name in Wanted.__dataclass_fields__ if name not in ("title", "example")]
    said = {name: getattr(options, name) for name in names if getattr(options, name, None)}
    title = options.title if len(options.apps) == 1 else ""
    return Wanted(**said, title=title, example=tuple(options.example))
