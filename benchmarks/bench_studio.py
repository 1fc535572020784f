"""How long a page waits for the studio: 20 requests at once, through HTTP, on 4,000 samples of 1,280 features.

    python benchmarks/bench_studio.py                 # latencies
    python benchmarks/bench_studio.py --samples 100000
    python benchmarks/bench_studio.py --person        # one person labels 1,800, 10,000 and 50,000 samples, with fits
    python benchmarks/bench_studio.py --person --samples 10000 --labels 500
    python benchmarks/bench_studio.py --person --audit        # fits never rest
    python benchmarks/bench_studio.py --person --table --samples 10000  # columns with units, prepared for each label
    python benchmarks/bench_studio.py --simulate      # labelling of Stanford 40 against benchmarks/labelling.py

Stanford 40's features if they are found, otherwise random ones. The server is a process of its own; each number is the
95th percentile (and the median) over all requests of a kind, of which 20 are on their way at any time.

A person sends one request after the other, with a page that listens, while each label is followed by fits in a process
beside; these take a part of a core, as the printed share says, and with ``--audit`` an audit fills another all the
time. On a machine that others use, too, times are those of the machine: so a request that does nothing is timed among
the others, and the processor time of the server is told, which does not depend on who else is there.
"""

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
import numpy as np

TOGETHER, POOL = 20, 800
WARM = 20  # labels of a person before anything is measured


def data(n_samples):
    """(samples, labels, class names): labelled ones first, then a pool of 800."""
    from ancr.datasets import DataNotFoundError, load_stanford40

    try:
        bunch = load_stanford40(features="efficientnet_lite0")
        X, y = np.asarray(bunch.data, np.float32), np.asarray(bunch.target)
        print("Stanford 40, EfficientNet-Lite0")
    except DataNotFoundError:
        rng = np.random.default_rng(0)
        y = rng.integers(0, 40, 9532)
        X = np.abs(rng.normal(size=(40, 1280))[y] + rng.normal(size=(9532, 1280))).astype(np.float32)
        print("random samples in place of Stanford 40, which was not found")
    wanted = n_samples + POOL
    if wanted > len(X):  # more than there are: the same with noise
        rng = np.random.default_rng(1)
        rows = rng.integers(0, len(X), wanted - len(X))
        X = np.concatenate([X, X[rows] + 0.3 * X.std() * rng.normal(size=(len(rows), X.shape[1])).astype(np.float32)])
        y = np.concatenate([y, y[rows]])
    order = np.random.default_rng(2).permutation(len(X))[:wanted]
    return X[order], y[order]


class Server:
    """``ancr studio`` on a file."""

    def __init__(self, path):
        command = [sys.executable, "-u", "-m", "ancr", "studio", str(path), "--no-browser"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ)
        for line in self.process.stdout:
            if found := re.search(r"(http://127\.0\.0\.1:\d+)/\?token=(\S+)", line):
                self.home, self.token = found.groups()
                return
        raise SystemExit("the studio did not start")

    def client(self):
        limits = httpx.Limits(max_connections=TOGETHER, max_keepalive_connections=TOGETHER)
        return httpx.AsyncClient(base_url=self.home, headers={"origin": self.home}, timeout=600, limits=limits)

    async def enter(self, client):
        await client.get(f"/?token={self.token}")
        return client

    def stop(self):
        self.process.terminate()
        self.process.wait()


def children(pid):
    """Processes that a process has started."""
    found = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for file in found for child in file.read_text().split()]


def memory(pid):
    """Resident megabytes of a process and of those that it has started."""
    resident = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(resident.group(1)) / 1024 + sum(memory(child) for child in children(pid))


def busy(pid):
    """Seconds of processor time that a process has taken itself."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def settle(client, pid):
    """Wait until the background has nothing left to do: the estimate is that of all labels, and no process works."""
    start, before = time.perf_counter(), -1.0
    while True:
        state, now = (await client.get("/api/state")).json(), sum(map(busy, children(pid)))
        if state["estimate"] and state["estimate"]["current"] and now == before:
            return time.perf_counter() - start
        before = now
        await asyncio.sleep(3)


class Line:
    """A connection that stays open, with as little work as possible: the client shares the machine with the server."""

    @classmethod
    async def open(cls, client):
        self = cls()
        url = client.base_url
        cookies = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
        self._head = f"Host: {url.host}:{url.port}\r\nOrigin: http://{url.host}:{url.port}\r\nCookie: {cookies}\r\n"
        self._reader, self._writer = await asyncio.open_connection(url.host, url.port)
        return self

    async def post(self, path, body):
        """``(status, body)``."""
        content = json.dumps(body).encode()
        kind = f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        return await self._send(f"POST {path} HTTP/1.1\r\n{self._head}{kind}".encode() + content)

    async def get(self, path):
        """``(status, body)``."""
        return await self._send(f"GET {path} HTTP/1.1\r\n{self._head}\r\n".encode())

    async def _send(self, request):
        self._writer.write(request)
        found = await self._reader.readuntil(b"\r\n\r\n")
        length = int(re.search(rb"content-length: (\d+)", found, re.I).group(1))
        return int(found.split(b" ", 2)[1]), await self._reader.readexactly(length)

    def close(self):
        self._writer.close()


async def measure(client, name, requests):
    """Send requests, 20 at any time, and print how long each took."""
    times, queue = [], iter(requests)

    async def visitor():
        line = await Line.open(client)
        for path, body in queue:
            start = time.perf_counter()
            status, answer = await line.post(path, body)
            times.append(1000 * (time.perf_counter() - start))
            assert status == 200, answer
        line.close()

    await asyncio.gather(*(visitor() for _ in range(TOGETHER)))
    print(
        f"{name:<44} p95 {np.percentile(times, 95):8.1f} ms   median {np.median(times):8.1f} ms   n={len(times)}",
        flush=True,
    )


async def latencies(n_samples):
    X, y = data(n_samples)
    labels = np.where(np.arange(len(X)) < n_samples, y, -1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.npz"
        np.savez(path, features=X, labels=labels)
        ids, server = identities_of(path), Server(path)
        try:
            async with server.client() as client:
                await server.enter(client)
                ready = await settle(client, server.process.pid)
                print(f"{n_samples} labelled × {X.shape[1]}; ready after {ready:.1f} s", flush=True)
                n = 400 if n_samples <= 10_000 else 60
                await _answers(client, ids[n_samples:], n)
                await _sliders(client, ids[n_samples:], n, with_relaxation=n_samples <= 10_000)
                await _labels(client, ids[n_samples:], y[n_samples:])
        finally:
            server.stop()


def identities_of(path):
    """The identities that a studio gives the samples of a file."""
    from ancr.studio.identities import identities
    from ancr.studio.openings import open_source

    source = open_source(path)
    return identities(source.contents, source.names, [], are_keys=False)


async def _answers(client, pool, n):
    await measure(client, "warm-up", [("/api/answer", {"sample": pool[i]}) for i in range(TOGETHER)])
    await measure(client, "answer with witnesses", [("/api/answer", {"sample": pool[i % POOL]}) for i in range(n)])


def _steps(pool, n, make):
    return [("/api/answer", {"sample": pool[i // 20], "settings": make(i)}) for i in range(n)]


async def _sliders(client, pool, n, with_relaxation):
    n = n // 2
    await measure(client, "slider step: λ", _steps(pool, n, lambda i: {"alpha": 10 ** (-4 + 3.5 * (i % 20) / 20)}))
    await measure(
        client,
        "slider step: kernel width",
        _steps(pool, n, lambda i: {"space__kernel": "rbf", "space__gamma": 0.1 + 0.1 * (i % 20)}),
    )
    await measure(client, "slider step: power", _steps(pool, 20, lambda i: {"space__power": 0.5 + 0.1 * (i % 2)}))
    if with_relaxation:
        one = [("/api/answer", {"sample": pool[0], "settings": {"relaxation": 0.3}})]
        await measure(client, "slider step: first relaxation", one)
        await measure(client, "slider step: relaxation again", one * 20)


async def _labels(client, pool, y):
    actions = [("/api/act", {"do": "label", "sample": pool[i], "label": str(y[i])}) for i in range(400)]
    await measure(client, "label, with update and next sample", actions)
    await measure(client, "answer right after labels", [("/api/answer", {"sample": pool[500 + i]}) for i in range(20)])


def digits(n_samples):
    """(samples, labels): digits, repeated with noise where there are too few, in any order."""
    from sklearn.datasets import load_digits

    rng = np.random.default_rng(0)
    X, y = load_digits(return_X_y=True)
    rows = rng.permutation(n_samples)
    noise = 1.5 * (rows >= len(X))[:, None] * rng.normal(size=(n_samples, X.shape[1]))
    return (X[rows % len(X)] + noise).astype(np.float32), y[rows % len(X)].astype(str)


class Person:
    """One person who labels, and asks about the sample that comes next, while fits follow every label."""

    def __init__(self, server, truth):
        self.server, self.truth = server, truth
        self.times = {"label → next sample": [], "answer": [], "nothing": []}

    async def work(self, client, n_labels):
        """Label so many samples."""
        line = await Line.open(client)
        (sample,) = (await client.post("/api/next", json={"n": 1})).json()["next"]
        for _ in range(n_labels):
            action = {"do": "label", "sample": sample["id"], "label": self.truth[sample["number"] - 1]}
            (sample,) = (await self._timed("label → next sample", line.post("/api/act", action)))["next"]
            await self._timed("answer", line.post("/api/answer", {"sample": sample["id"]}))
            await self._timed("nothing", line.get("/api/number/1"))
        line.close()

    async def _timed(self, name, request):
        start = time.perf_counter()
        status, answer = await request
        self.times[name].append(1000 * (time.perf_counter() - start))
        assert status == 200, answer
        return json.loads(answer)

    async def audit(self, client):
        """Begin an audit whenever none runs."""
        while True:
            await client.post("/api/start/audit", json={})
            await asyncio.sleep(0.5)

    async def listen(self, client):
        """Take events as a page does."""
        async with client.stream("GET", "/api/events") as events:
            async for _ in events.aiter_bytes():
                pass

    def told(self):
        """Times of each kind of request."""
        return "; ".join(
            f"{n} p95 {np.percentile(t, 95):.0f} ms, median {np.median(t):.0f}" for n, t in self.times.items()
        )


def write_table(path, X, labels):
    """A CSV of columns with units."""
    units = 10.0 ** (np.arange(X.shape[1]) % 5 - 1)
    lines = [
        ",".join([*(f"{value:.4g}" for value in row), label]) for row, label in zip(X * units, labels, strict=True)
    ]
    path.write_text("\n".join([",".join([*(f"c{j}" for j in range(X.shape[1])), "label"]), *lines]) + "\n")


async def person(n_samples, n_labels, is_table, audits):
    """Times, processor time and memory while a person labels."""
    X, truth = digits(n_samples)
    labels = np.where(np.arange(n_samples) < n_samples - max(n_labels + 100, n_samples // 2), truth, "")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ("data.csv" if is_table else "data.npz")
        if is_table:
            write_table(path, X, labels)
        else:
            np.savez(path, features=X, labels=labels)
        server = Server(path)
        pid, one = server.process.pid, Person(server, truth)
        try:
            async with server.client() as client:
                await server.enter(client)
                page = asyncio.create_task(one.listen(client))
                await one.work(client, WARM)
                one.times = {name: [] for name in one.times}
                await settle(client, pid)
                (beside,) = [child for child in children(pid) if busy(child) > 1]
                before, times = memory(pid), (busy(pid), busy(beside), time.perf_counter())
                audit = asyncio.create_task(one.audit(client)) if audits else None
                await one.work(client, n_labels)
                now = busy(pid), busy(beside), time.perf_counter()
                if audit is not None:
                    audit.cancel()
                    await client.post("/api/cancel/audit", json={})
                spent, fits, wall = np.subtract(now, times)
                await settle(client, pid)
                after = memory(pid)
                page.cancel()
        finally:
            server.stop()
    kind = "rows with units" if is_table else "samples"
    more = ", audits" if audits else ""
    print(f"{n_samples} {kind}, {n_labels} labels{more}, load {os.getloadavg()[0]:.1f}: {one.told()}")
    each = f"{1000 * spent / n_labels:.1f} ms for a label, its answer and its news"
    print(f"  processor: {each}; fits {fits / wall:.0%} of a core")
    print(f"  memory: {before:.0f} → {after:.0f} MB, {after / before:.2f} of before", flush=True)


async def simulate(seed, rounds):
    """The study of ``benchmarks/labelling.py`` through the page's own requests."""
    sys.path.insert(0, str(Path(__file__).parent))
    import labelling

    from ancr import ANCRClassifier
    from ancr.classifiers.controls import flat
    from ancr.samples.model_file import Model

    X, y, test, truth = labelling.load("stanford40")
    random, classes = np.random.default_rng(seed), int(y.max()) + 1
    start = [int(random.choice(np.flatnonzero(y == k))) for k in range(classes)]
    names = [f"class {k:02d}" for k in range(classes)]  # sorted as the numbers are
    labels = np.full(len(X), "", dtype="U10")
    labels[start] = [names[k] for k in y[start]]
    found = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pool.npz"
        np.savez(path, features=X, labels=labels)
        server = Server(path)
        try:
            async with server.client() as client:
                await server.enter(client)
                await client.post(
                    "/api/act", json={"do": "settings", "settings": flat(ANCRClassifier(**labelling.SETTINGS))}
                )
                for turn in range(rounds + 1):
                    (Path(folder) / "model.npz").write_bytes((await client.get("/api/export/model.npz")).content)
                    answers = Model.load(Path(folder) / "model.npz").build().predict(test)
                    found.append(round(100.0 * float(np.mean(answers == np.array(names)[truth])), 3))
                    if turn < rounds:
                        asked = await client.post("/api/next", json={"n": classes, "fresh": True, "seed": seed})
                        for sample in asked.json()["next"]:
                            label = names[y[sample["number"] - 1]]
                            await client.post("/api/act", json={"do": "label", "sample": sample["id"], "label": label})
        finally:
            server.stop()
    study = labelling.curve("next_to_label", (X, y, test, truth), seed, rounds)
    print(f"seed {seed}: studio {found}")
    print(f"seed {seed}: study  {study}   largest difference {np.abs(np.subtract(found, study)).max():.3f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, help="labelled ones, 4000 unless given; with --person all")
    parser.add_argument("--person", action="store_true")
    parser.add_argument("--table", action="store_true", help="of a person: a table whose columns have units")
    parser.add_argument("--audit", action="store_true", help="of a person: an audit runs all the time")
    parser.add_argument("--labels", type=int, default=2000, help="of a person, where there are more than 5,000 samples")
    parser.add_argument("--simulate", action="store_true")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=4)
    options = parser.parse_args()
    if options.simulate:
        for seed in range(options.seeds):
            asyncio.run(simulate(seed, options.rounds))
    elif options.person:
        for n_samples in [options.samples] if options.samples else (1800, 10_000, 50_000):
            n_labels = min(options.labels, n_samples // 3)
            asyncio.run(person(n_samples, n_labels, options.table, options.audit))
    else:
        asyncio.run(latencies(options.samples or 4000))


if __name__ == "__main__":
    main()
