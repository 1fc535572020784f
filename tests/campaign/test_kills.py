"""``train`` and ``predict`` killed at random points: the old file or the new one, never a part, and nothing left."""

import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from ancr.model_file import Model

KILLS = int(os.environ.get("ANCR_KILLS", "2"))


def run(*arguments):
    return subprocess.Popen([sys.executable, "-m", "ancr", *arguments], stdout=subprocess.DEVNULL)


@pytest.mark.parametrize("command", ["train", "predict"])
def test_a_kill_leaves_the_old_file_or_the_new_one(tmp_path, command):
    rng, times = np.random.default_rng(0), random.Random(0)
    header = ",".join([f"c{i}" for i in range(50)] + ["label"])
    rows = np.c_[rng.standard_normal((2000, 50)), rng.integers(0, 2, 2000)]
    data, model, answers = tmp_path / "data.csv", tmp_path / "model.npz", tmp_path / "answers.csv"
    np.savetxt(data, rows, delimiter=",", header=header, comments="", fmt="%.3g")
    Model(
        "CRC",
        {},
        rows[:99, :50],
        rows[:99, 50].astype(str),
        np.arange(99).astype(str),
        columns=tuple(header.split(",")[:50]),
    ).save(model)
    output = model if command == "train" else answers
    arguments = (
        ["train", data, "-o", model, "--method", "CRC"]
        if command == "train"
        else ["predict", model, data, "-o", answers]
    )
    start = time.perf_counter()
    assert run(*arguments).wait() == 0
    duration, complete = time.perf_counter() - start, output.stat().st_size
    for _ in range(KILLS):
        process = run(*arguments)
        time.sleep(times.uniform(0.5, 1.0) * duration)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert output.stat().st_size == complete
    assert run(*arguments).wait() == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted({"data.csv", "model.npz", output.name})
