"""A studio in a process of its own, as a person starts it."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path


class Process:
    """``ancr studio`` on a free port, started in ``folder``; its address is in the first lines that it prints."""

    def __init__(self, home, *arguments, folder=None):
        env = {
            **os.environ,
            "XDG_DATA_HOME": str(home),
            "ANCR_CACHE": str(home),
            "ANCR_NUM_THREADS": "1",
            "OMP_NUM_THREADS": "1",
        }
        command = [sys.executable, "-u", "-m", "ancr", "studio", *map(str, arguments), "--no-browser"]
        if folder is not None:  # the package of these tests, though they are elsewhere
            env["PYTHONPATH"] = str(Path(__file__).parents[2])
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        self.process = subprocess.Popen(command, env=env, cwd=folder, **pipes)
        self.lines, self.address = [], None
        deadline = time.monotonic() + 400  # a busy machine takes long to start
        while self.address is None:
            line = self.process.stdout.readline()
            self.lines.append(line)
            found = re.search(r"http://127\.0\.0\.1:(\d+)/\?token=\S+", line)
            self.address = found and found.group(0)
            if not line or (self.address is None and time.monotonic() > deadline):
                self.kill()
                raise AssertionError("".join(self.lines))
        self.port = int(found.group(1))

    def kill(self):
        """End it as the system does when memory is short."""
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.terminate()
        self.process.wait(timeout=120)


def held(page, path, send):
    """``send`` a request to ``path`` and keep back the answer of the server; returns a function that lets it go."""
    kept = []

    def keep(route):
        if kept:
            route.continue_()
        else:
            kept.append(route)
            kept.append(route.fetch())

    page.route(path, keep)
    send()
    while len(kept) < 2:
        page.wait_for_timeout(20)
    return lambda: kept[0].fulfill(response=kept[1])
