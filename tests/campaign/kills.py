"""Commands to kill: what each needs, what it writes, and how to read that back. ``test_kills.py`` kills them."""

import json
import shutil
from dataclasses import dataclass

import numpy as np

# Modules that stand in for torchvision and timm: `extract` is killed with a network of one layer.
STUBS = {
    "torchvision.py": "",
    "timm/__init__.py": """
        import torch
        from timm import data

        def list_models():
            return ["one_layer"]

        def is_model(name):
            return name == "one_layer"

        def create_model(name, **options):
            return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 8 * 8, 5))
        """,
    "timm/data.py": """
        import numpy as np
        import torch

        def resolve_model_data_config(module):
            return {}

        def to_tensor(image):
            return torch.asarray(np.array(image.convert("RGB").resize((8, 8)), np.float32).transpose(2, 0, 1))

        def create_transform(**config):
            return to_tensor
        """,
}


@dataclass(frozen=True)
class Command:
    """A command with its output.

    Attributes
    ----------
    name, arguments : str
        The command and its arguments, run in a folder made by `make_folder`.
    output : str
        The file or the folder that it writes.
    resumes : bool
        Whether it adds to what an earlier run has written; otherwise the output is replaced as a whole.
    """

    name: str
    arguments: str
    output: str
    resumes: bool = False

    def result(self, folder):
        """What the output says, without times and paths."""
        output = folder / self.output
        if self.resumes:
            cells = [json.loads(line) for line in (output / "cells.jsonl").read_text().splitlines()]
            key = ("method", "setting", "protocol", "draw")
            accuracy = {tuple(cell[name] for name in key): cell["accuracy"] for cell in cells}
            assert len(accuracy) == len(cells)
            return accuracy, sorted(path.name for path in output.rglob("*") if path.is_file())
        if output.suffix == ".npz":
            with np.load(output) as arrays:
                return {name: arrays[name].tolist() for name in arrays.files}
        return output.read_text()

    def forget(self, folder):
        """Delete the output of a command that would find nothing left to do."""
        if self.resumes:
            shutil.rmtree(folder / self.output)


COMMANDS = [
    Command("train", "train data.csv -o model.npz --method CRC", "model.npz"),
    Command("predict", "predict model.npz data.csv -o answers.csv", "answers.csv"),
    Command("compare", "compare data.csv -o out --methods CRC,ACR --folds 5 --no-figures", "out", resumes=True),
    Command("reproduce", "reproduce digits -o out --draws 1 --methods CRC,ACR --no-figures", "out", resumes=True),
    Command("extract", "extract photos -o photos.npz --backbone one_layer --weights none --batch-size 2 "
            "--cache-dir cache", "photos.npz"),
]  # fmt: skip


def make_folder(folder):
    """Data, images and a model for all commands."""
    from PIL import Image

    from ancr import CRCClassifier
    from ancr.samples.column_kinds import Column
    from ancr.samples.column_plan import ColumnPlan
    from ancr.samples.model_file import Model

    rng = np.random.default_rng(0)
    rows, names = rng.standard_normal((2000, 50)), tuple(f"c{i}" for i in range(50))
    labels = rng.integers(0, 2, len(rows))
    header = ",".join([*names, "label"])
    np.savetxt(folder / "data.csv", np.c_[rows, labels], delimiter=",", header=header, comments="", fmt="%.3g")
    plan = ColumnPlan(tuple(map(Column, names)))
    Model(CRCClassifier(), rows[:99], labels[:99].astype(str), np.arange(99).astype(str), plan=plan).save(
        folder / "model.npz"
    )
    for number in range(40):
        path = folder / "photos" / "xy"[number % 2] / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 256, (8, 8, 3), dtype=np.uint8)).save(path)
