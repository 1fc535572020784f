"""How long a client waits for ``ancr serve``, whether the server grows, and what it says to requests it cannot answer.

    python benchmarks/bench_serve.py                    # 1,000 requests of 1 and of 100 queries, then 20,000 requests
    python benchmarks/bench_serve.py --steady 2000      # fewer requests for the memory

USPS if it is found, otherwise scikit-learn's digits; ANCR as ``ancr train`` sets it. The server is a process of its own
and answers one client, which sends the next request when it has the last answer. Memory is the server's resident set.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
import numpy as np

REQUESTS = 1000


def model(folder):
    """(path of a model, queries): half of a data set each, at most 4,000 training samples."""
    from ancr import ANCRClassifier
    from ancr.datasets import DataNotFoundError, load_digits, load_usps
    from ancr.samples.model_file import Model

    try:
        bunch = load_usps()
    except DataNotFoundError:
        bunch = load_digits()
    order = np.random.default_rng(0).permutation(len(bunch.target))
    train, test = order[: min(len(order) // 2, 4000)], order[-(len(order) // 2) :]
    names = [f"sample {i}" for i in train]
    labels = bunch.target_names[bunch.target[train]].astype(str)
    Model(ANCRClassifier(), bunch.data[train], labels, names, "array").save(folder / "model.npz")
    print(f"{bunch.name}: {len(train)} training samples of {bunch.data.shape[1]} features")
    return folder / "model.npz", bunch.data[test]


class Server:
    """``ancr serve`` on a model."""

    def __init__(self, path):
        command = [sys.executable, "-u", "-m", "ancr", "serve", str(path), "--port", "0"]
        start = time.perf_counter()
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ)
        for line in self.process.stdout:
            if found := re.search(r"http://127\.0\.0\.1:\d+", line):
                self.home = found[0]
                print(f"listening after {time.perf_counter() - start:.1f} s")
                return
        raise SystemExit("the server did not start")

    def megabytes(self):
        """Resident memory."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait()


def latencies(client, queries, count, size):
    """Seconds of each of some requests of ``size`` queries."""
    rng, seconds = np.random.default_rng(size), np.empty(count)
    for i in range(count):
        rows = queries[rng.integers(0, len(queries), size)].tolist()
        start = time.perf_counter()
        answer = client.post("/predict", json={"rows": rows})
        seconds[i] = time.perf_counter() - start
        assert answer.status_code == 200, answer.text
        assert len(answer.json()["predictions"]) == size
    return seconds


def refusals(client, width):
    """Send what cannot be answered; each must come back as 4xx in one line."""
    row = [0.0] * width
    bodies = {
        "bad JSON": b'{"rows": [[0.0,',
        "wrong width": json.dumps({"rows": [row[1:]]}).encode(),
        "NaN": json.dumps({"rows": [[float("nan"), *row[1:]]]}).encode(),
        "huge body": b" " * (17 * 2**20),
    }
    for name, body in bodies.items():
        answer = client.post("/predict", content=body, headers={"content-type": "application/json"})
        assert 400 <= answer.status_code < 500, answer.text
        assert "\n" not in answer.json()["error"]
        print(f"{name}: {answer.status_code}, {answer.json()['error']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steady", type=int, default=20_000, help="requests over which memory is watched")
    steady = parser.parse_args().steady
    with tempfile.TemporaryDirectory() as folder:
        path, queries = model(Path(folder))
        server = Server(path)
        try:
            with httpx.Client(base_url=server.home, timeout=600) as client:
                for size in (1, 100):
                    found = latencies(client, queries, REQUESTS, size)
                    low, high = 1e3 * np.percentile(found, [50, 95])
                    print(f"{REQUESTS} requests of {size}: median {low:.1f} ms, p95 {high:.1f} ms")
                refusals(client, queries.shape[1])
                print(f"memory after them: {server.megabytes():.0f} MB")
                for part in range(4):
                    latencies(client, queries, steady // 4, 1)
                    print(f"memory after {(part + 1) * (steady // 4)} more requests: {server.megabytes():.0f} MB")
        finally:
            print(f"exit status {server.stop()}")


if __name__ == "__main__":
    main()
