"""What the page decides without a page, by node's own test runner."""

import shutil
import subprocess
from pathlib import Path

import pytest


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
@pytest.mark.parametrize("file", sorted(Path(__file__).parent.glob("*.test.mjs")), ids=lambda file: file.name)
def test_logic_of_the_page(file):
    done = subprocess.run(
        ["node", "--experimental-default-type=module", "--test", str(file)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
