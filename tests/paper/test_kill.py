"""Kill −9 at any moment loses at most the cells that are running."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

COMMAND = (sys.executable, "-m", "ancr", "reproduce", "digits", "--draws", "2", "--methods", "CRC,NRC,ANCR")
COMMAND += ("--no-figures", "--output")


def lines(folder):
    path = folder / "cells.jsonl"
    return path.read_text().splitlines() if path.exists() else []


def kill_after(folder, count):
    """Start the command and kill it once ``count`` more cells are written."""
    goal = len(lines(folder)) + count
    process = subprocess.Popen([*COMMAND, folder], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while len(lines(folder)) < goal and process.poll() is None:
        time.sleep(0.002)
    running = process.poll() is None
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    return running


@pytest.mark.all
def test_killed_runs_add_up_to_an_undisturbed_one(tmp_path):
    killed, undisturbed = tmp_path / "killed", tmp_path / "undisturbed"
    assert all([kill_after(killed, count) for count in (1, 7, 13)])
    path = killed / "cells.jsonl"
    path.write_bytes(path.read_bytes()[:-9])  # an incomplete last line
    for folder in (killed, undisturbed):
        subprocess.run([*COMMAND, folder], check=True, stdout=subprocess.DEVNULL)
    parts = [[json.loads(line) for line in lines(folder)] for folder in (killed, undisturbed)]
    names = ("dataset", "features", "setting", "method", "protocol", "draw")
    tables = [{tuple(cell[name] for name in names): cell["accuracy"] for cell in part} for part in parts]
    assert [len(part) for part in parts] == [len(table) for table in tables]
    assert tables[0] == tables[1]
    assert (killed / "report.html").exists()
