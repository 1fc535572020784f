"""The command itself: killed, started twice, ended by Ctrl-C."""

import asyncio
import contextlib
import multiprocessing
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlparse
from urllib.request import url2pathname

import httpx
import numpy as np
import pytest

from ancr.studio import connections
from ancr.studio.apart import Beside, CancelledError
from ancr.studio.connections import bind
from ancr.studio.server import PORTS, opened
from tests.command_line import invoke
from tests.studio.browsing import Process


def client_of(process):
    home = f"http://127.0.0.1:{process.port}"
    client = httpx.Client(base_url=home, headers={"origin": home}, timeout=60, follow_redirects=True)
    assert client.get(process.address).status_code == 200
    return client


def label_next(client, label):
    sample = client.post("/api/next", json={"n": 1}).json()["next"][0]["id"]
    answer = client.post("/api/act", json={"do": "label", "sample": sample, "label": label})
    assert answer.status_code == 200
    return sample


@pytest.mark.all
def test_kill_9_loses_at_most_the_action_in_flight(tmp_path):
    acknowledged = []
    with Process(tmp_path) as process:
        client = client_of(process)

        def hammer():
            try:
                while True:
                    acknowledged.append(label_next(client, "5"))
            except httpx.HTTPError:
                pass

        thread = threading.Thread(target=hammer)
        thread.start()
        while len(acknowledged) < 30:
            assert thread.is_alive()
        process.kill()
        thread.join()
    with Process(tmp_path) as process:
        client = client_of(process)
        labels = client.get("/api/export/labels.csv").text.splitlines()
        kept = {line.split(",")[4] for line in labels if line.split(",")[3] == "labelled"}
        assert set(acknowledged) <= kept
        assert len(kept) <= len(acknowledged) + 1
        assert client.post("/api/act", json={"do": "undo"}).status_code == 200


def test_studios_that_start_together_have_their_own_ports():
    with contextlib.ExitStack() as stack:
        listeners = [stack.enter_context(bind(PORTS)) for _ in range(3)]
        ports = {listener.getsockname()[1] for listener in listeners}
        assert len(ports) == 3
        with pytest.raises(OSError, match="choose another"):
            bind(min(ports))


def test_a_page_that_comes_before_the_server_accepts_is_kept_waiting():
    with bind(PORTS) as listener, socket.create_connection(listener.getsockname(), timeout=5) as page:
        page.sendall(b"early")
        connection, _ = listener.accept()
        with connection:
            assert connection.recv(5) == b"early"


def test_a_second_studio_is_refused_with_the_address_of_the_first(tmp_path):
    with Process(tmp_path) as first:
        with pytest.raises(AssertionError, match="a studio is already open on this data") as refused:
            Process(tmp_path)
        assert f"http://127.0.0.1:{first.port}/" in str(refused.value)
        assert "token" not in str(refused.value)
        assert "Traceback" not in str(refused.value)


def test_ctrl_c_ends_it_even_while_a_page_listens(tmp_path):
    with Process(tmp_path) as process:
        client = client_of(process)
        with client.stream("GET", "/api/events") as stream:
            next(stream.iter_lines())
            process.process.send_signal(signal.SIGINT)
            assert process.process.wait(timeout=20) == 0
        assert process.process.stdout.read().strip() in ("", "^C")


def test_half_sent_requests_and_endless_headers_keep_nobody_waiting(tmp_path):
    with Process(tmp_path) as process, contextlib.ExitStack() as stack:
        there = ("127.0.0.1", process.port)
        client = client_of(process)
        for _ in range(220):
            half = stack.enter_context(socket.create_connection(there, timeout=10))
            half.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n")
        start = time.monotonic()
        assert client.get("/api/state").status_code == 200
        endless = stack.enter_context(socket.create_connection(there, timeout=10))
        endless.sendall(b"GET / HTTP/1.1\r\nX: ")
        with pytest.raises(ConnectionError):  # 32 MB, if it were read
            endless.sendall(b"a" * 2**25)
        assert client.get("/api/state").status_code == 200
        assert time.monotonic() - start < 20  # even on a busy machine; not a minute and more
        half.settimeout(15)
        with contextlib.suppress(ConnectionError):
            assert half.recv(1) == b""  # closed, without an answer


def test_who_goes_away_in_the_middle_of_a_body_leaves_no_trace(tmp_path):
    """220 tracebacks would fill a terminal, or the pipe that nobody reads, and then keep everybody waiting."""
    with Process(tmp_path) as process:
        client = client_of(process)
        cookie = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
        home = f"127.0.0.1:{process.port}"
        head = f"POST /api/act HTTP/1.1\r\nHost: {home}\r\nOrigin: http://{home}\r\nCookie: {cookie}\r\n"
        half = f"{head}Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{{".encode()
        with contextlib.ExitStack() as stack:
            for _ in range(220):
                stack.enter_context(socket.create_connection(("127.0.0.1", process.port), timeout=10)).sendall(half)
            assert client.get("/api/state").status_code == 200
        assert client.get("/api/state").status_code == 200
        process.process.terminate()
        assert process.process.wait(60) == 0
        assert process.process.stdout.read() == ""


def test_answers_are_sent_at_once():
    """Small answers do not wait until the ones before are acknowledged."""

    async def accepted(listener):
        found = asyncio.get_running_loop().create_future()

        def talk(reader, writer):
            found.set_result(writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        async with await asyncio.start_server(talk, sock=listener):
            _, writer = await asyncio.open_connection(*listener.getsockname())
            delay = await found
            writer.close()
            return delay

    with bind(PORTS) as listener:
        assert asyncio.run(accepted(listener))


def test_connections_that_rest_keep_nobody_out(tmp_path):
    """Whole requests without the token, on connections that stay open afterwards."""
    with Process(tmp_path) as process, contextlib.ExitStack() as stack:
        request = f"GET /api/state HTTP/1.1\r\nHost: 127.0.0.1:{process.port}\r\n\r\n".encode()
        inside = client_of(process)
        for _ in range(260):
            idle = stack.enter_context(socket.create_connection(("127.0.0.1", process.port), timeout=10))
            idle.sendall(request)
            assert idle.recv(12) == b"HTTP/1.1 401"
        with httpx.Client(base_url=inside.base_url, cookies=inside.cookies, timeout=60) as another:
            assert another.get("/api/state").status_code == 200


def test_the_token_is_not_on_a_command_line(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    opened_by = []
    monkeypatch.setattr("webbrowser.open", opened_by.append)
    with opened("http://127.0.0.1:1/?token=secret"):
        (address,) = opened_by
        path = Path(url2pathname(urlparse(address).path))
        assert "secret" not in address
        assert "url=http://127.0.0.1:1/?token=secret" in path.read_text()
        assert path.stat().st_mode & 0o077 == 0
    assert not path.exists()


@pytest.mark.parametrize("arguments", [["nothing.csv"], ["--images", "nowhere"]])
def test_bad_arguments_are_one_line(arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = invoke(["studio", *arguments, "--no-browser"])
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: ")
    assert len(result.stderr.strip().splitlines()) == 1


def test_the_command_line_does_not_load_the_server():
    code = "import ancr.cli, sys; print([name for name in ('starlette', 'uvicorn', 'numpy') if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_work_that_is_stopped_while_its_process_starts(monkeypatch):
    beside = Beside(np.zeros((3, 2)))
    start = multiprocessing.process.BaseProcess.start

    def stopped_meanwhile(process):
        threading.Thread(target=beside.stop).start()
        time.sleep(0.2)
        start(process)

    monkeypatch.setattr(multiprocessing.process.BaseProcess, "start", stopped_meanwhile)
    with pytest.raises(CancelledError):
        beside.ask(np.sum)


def test_a_body_goes_on_while_it_comes_as_fast_as_files_do():
    """A large upload may take minutes; a body of which nothing comes may not."""

    class Loop:
        def __init__(self):
            self.calls = []

        def time(self):
            return 0.0

        def call_later(self, seconds, function):
            self.calls.append(function)
            return SimpleNamespace(cancel=lambda: None)

    closed = []
    connection = object.__new__(connections.LimitedProtocol)
    connection.loop, connection.transport = Loop(), SimpleNamespace(close=lambda: closed.append(True))
    connection._timer, connection.waits_since, connection._head, connection._body = None, None, -1, 0
    connection._wait(connections.BODY_TIME)
    for _ in range(3):
        connection._body += connections.LEAST_BODY
        connection.loop.calls[-1]()
        assert closed == []
    assert len(connection.loop.calls) == 4
    connection._body += connections.LEAST_BODY - 1
    connection.loop.calls[-1]()
    assert closed == [True]
