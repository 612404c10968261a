"""``build.py export MODEL --out FILE.onnx``: a model of another library as ONNX, compared with its own answers."""

import argparse
from pathlib import Path

from onnxlet.errors import BuildError

__all__ = ["describe", "run"]

_EXAMPLES = """\
examples:
  build.py export classifier.pt2 --out classifier.onnx
  build.py export bert-folder/ --out bert.onnx          its tokenizer goes along
  build.py export booster.txt --out booster.onnx
  build.py export tfjs/model.json --out model.onnx

Models that only Python can make (a torch.nn.Module, a scikit-learn pipeline) come from a model.py: see docs/models.md.
"""


def describe(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.description = "Export a model of another library to ONNX and compare both on the same inputs."
    parser.epilog = _EXAMPLES
    parser.add_argument("model", metavar="MODEL", help="a file, a folder, or a Hugging Face id")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FILE.onnx", help="where to; sidecar files beside it"
    )
    parser.add_argument("--force", action="store_true", help="replace files that are there")


def run(options: argparse.Namespace) -> int:
    """Export."""
    from .. import paths, sources
    from ..apps import Subject, Wanted, recognize_task

    out: Path = options.out
    if out.suffix != ".onnx":
        raise BuildError(f"--out {out}: expected a file name that ends in .onnx")
    made = sources.export(sources.open_file(options.model), out.name)
    targets = {out: made.data, **{out.parent / name: content for name, content in made.files.items()}}
    there = [str(path) for path in targets if path.exists()]
    if there and not options.force:
        raise BuildError(f"{', '.join(there)}: exists; choose another --out, or say --force")
    for path, content in targets.items():
        paths.write_whole(path, content)
    for note in (*made.notes, made.verified):
        if note:
            print(note)
    found = recognize_task(Subject(Path(options.model), made, out.name, Wanted()))
    print(f"build.py {out} would make an app for {found.task} ({found.reason})")
    print(f"{', '.join(map(str, targets))}: {sum(map(len, targets.values())):,} bytes")
    return 0
