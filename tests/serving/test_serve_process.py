"""`fairroc serve` as a process: it answers, has patience but no end of it, and stops without dropping a request."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairroc import FairModel
from fairroc.cli.main import main
from fitted_people import FairROC

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

KEY = "a secret of more than 16 bytes"
PEOPLE = {"scores": [0.4713, 0.6174], "groups": ["m", "f"], "ids": ["person-4711", "person-4712"]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("served")
    rng = np.random.default_rng(0)
    sex, y = rng.choice(["f", "m"], 1000), rng.integers(0, 2, 1000)
    score = np.round(1 / (1 + np.exp(-y - (1 + (sex == "m")) * rng.normal(size=1000))), 3)
    FairROC(epsilon=0.1, key=KEY).fit(score, y, sensitive_features=sex).model_.save(path / "model.json")
    (path / "key").write_text(KEY)
    return path


@contextmanager
def serving(
    folder: Path, *flags: str, workers: int = 1, files: int | None = None
) -> Iterator[tuple[subprocess.Popen[str], int, Path]]:
    """A service on a free port, its port, and the file of its log; it may open so many files, if it asks for them."""
    log = folder / "log.txt"
    command = [sys.executable, "-m", "fairroc", "serve", "--model", str(folder / "model.json")]
    command += ["--key-file", str(folder / "key"), "--port", "0", "--workers", str(workers), *flags]
    if files is not None:
        command = ["bash", "-c", f'ulimit -Sn 64 && ulimit -Hn {files} && exec "$@"', "bash", *command]
    with log.open("w") as sink, subprocess.Popen(command, stderr=sink, text=True) as process:
        try:
            deadline = time.monotonic() + 60
            while log.read_text(encoding="utf-8").count(" info ready ") < workers:
                assert process.poll() is None and time.monotonic() < deadline, log.read_text(encoding="utf-8")
                time.sleep(0.05)
            found = re.search(r"on http://127\.0\.0\.1:(\d+),", log.read_text(encoding="utf-8"))
            yield process, int(found[1]) if found else 0, log
        finally:
            if process.poll() is None:
                process.kill()


def head(body: bytes) -> bytes:
    return b"POST /v1/scores HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(
        body
    )


def answer(connection: socket.socket) -> tuple[int, Any]:
    found = http.client.HTTPResponse(connection)
    found.begin()
    return found.status, json.loads(found.read())


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGTERM to wait for")
@pytest.mark.parametrize("workers", [1, 2])
def test_a_service_answers_what_it_was_asked_before_it_stops(folder: Path, workers: int) -> None:
    body = json.dumps(PEOPLE).encode()
    fair = FairModel.load(folder / "model.json").transform(
        PEOPLE["scores"], sensitive_features=PEOPLE["groups"], ids=PEOPLE["ids"], key=KEY
    )
    with serving(folder, "--timeout", "20", workers=workers) as (process, port, log):
        with (
            socket.create_connection(("127.0.0.1", port), 30) as idle,
            socket.create_connection(("127.0.0.1", port), 30) as slow,
        ):
            idle.sendall(head(body) + body)
            status, found = answer(idle)
            assert status == 200 and found["fair_scores"] == fair.tolist()
            slow.sendall(head(body) + body[:20])  # in flight when the service is told to stop
            time.sleep(0.3)
            process.send_signal(signal.SIGTERM)
            time.sleep(0.5)
            slow.sendall(body[20:])
            assert answer(slow) == (200, found)
            assert idle.recv(1) == b""  # kept alive no longer
        assert process.wait(30) == 0
        told = log.read_text(encoding="utf-8")
        assert told.count("path=/v1/scores status=200") == 2 and told.count(" info stopped ") == workers
        for secret in (KEY, "4711", "0.4713", "0.6174", str(fair[0]), "person"):
            assert secret not in told
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), 5)


def test_slow_clients_are_cut_off_and_others_are_answered(folder: Path) -> None:
    body = json.dumps(PEOPLE).encode()
    with serving(folder, "--timeout", "0.5", "--max-body", "0.1") as (process, port, log):

        def open_() -> socket.socket:
            return socket.create_connection(("127.0.0.1", port), 30)

        with (
            open_() as silent,
            open_() as header,
            open_() as trickle,
            open_() as large,
            open_() as other,
            open_() as broken,
            open_() as gone,
        ):
            header.sendall(b"POST /v1/sco")
            trickle.sendall(head(body) + body[:5])
            gone.sendall(head(body) + body[:5])
            gone.close()
            large.sendall(head(b" " * 200_000) + b" " * 1000)  # refused before it is sent
            assert answer(large)[0] == 413
            other.sendall(b"GARBAGE\r\n\r\n")
            assert answer(other)[0] == 400
            broken.sendall(head(b"").replace(b"Content-Length: 0", b"Transfer-Encoding: chunked") + b"zz\r\n")
            assert answer(broken)[0] == 400  # no such length of a chunk
            with open_() as quick:
                quick.sendall(head(body) + body)
                assert answer(quick)[0] == 200
                assert answer(trickle)[0] == 408
                for kept in (silent, header, large):
                    assert kept.recv(1) == b""
        process.terminate()
        assert process.wait(30) in (0, 1)
        told = log.read_text(encoding="utf-8")
        assert told.count("client too slow") == 3 and told.count(" status=499 ") == 2 and "status=500" not in told


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
def test_a_worker_that_takes_anothers_place_serves_the_same_model(folder: Path, tmp_path: Path) -> None:
    """Whatever has become of the files: the way back of docs/guides/deploy.md points their names to others."""
    for name in ("model.json", "key"):
        shutil.copy(folder / name, tmp_path)
    body = json.dumps(PEOPLE).encode()
    with serving(tmp_path, workers=2) as (process, port, log):
        (tmp_path / "key").unlink()
        (tmp_path / "model.json").write_text("another")
        for worker in re.findall(r" ready pid=(\d+)", log.read_text(encoding="utf-8")):
            os.kill(int(worker), signal.SIGKILL)
        with socket.create_connection(("127.0.0.1", port), 30) as connection:
            connection.sendall(head(body) + body)
            assert answer(connection)[0] == 200
        process.terminate()
        assert process.wait(30) == 0
        assert "a worker died, another is started" in log.read_text(encoding="utf-8") and KEY not in log.read_text(
            encoding="utf-8"
        )


@pytest.mark.skipif(os.name == "nt", reason="Windows has no limit on open files")
def test_who_comes_when_there_is_no_room_is_told_so(folder: Path) -> None:
    """The service never runs out of files, with which it could take nobody and would log that without end."""
    from fairroc.serving.server import RESERVE

    body = json.dumps(PEOPLE).encode()
    with serving(folder, files=160) as (process, port, log), ExitStack() as stack:

        def open_() -> socket.socket:
            return stack.enter_context(socket.create_connection(("127.0.0.1", port), 30))

        many = [open_() for _ in range(300)]
        found = http.client.HTTPResponse(many[-1])
        found.begin()
        assert found.status == 503 and found.headers["retry-after"] == "1" and found.headers["connection"] == "close"
        assert json.loads(found.read())["detail"].startswith("Nothing was done: too many connections are open")
        assert log.read_text(encoding="utf-8").count("too many connections") == 300 - (160 - RESERVE)
        many[0].sendall(head(body) + body)  # who is in stays in
        assert answer(many[0])[0] == 200
        for one in many:
            one.close()
        deadline = time.monotonic() + 30
        while (status := _asked(open_(), body)) != 200:
            assert status == 503 and time.monotonic() < deadline
        process.terminate()
        assert process.wait(30) == 0
        assert " error " not in log.read_text(encoding="utf-8")


def _asked(connection: socket.socket, body: bytes) -> int:
    try:
        connection.sendall(head(body) + body)
        return answer(connection)[0]
    except ConnectionError:  # refused before it was read
        return 503


def test_what_cannot_be_served_is_said_before_anybody_can_ask(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "other").write_text("another secret of 16 bytes and more")
    keyed = ["--model", str(folder / "model.json"), "--key-file", str(folder / "key")]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for flags, words in (
            (["--model", str(tmp_path / "broken.json")], "must be whole JSON"),
            (["--model", str(tmp_path / "none.json")], "none.json"),
            (keyed[:2], "was fitted with a key"),
            ([*keyed[:3], str(tmp_path / "other")], "was fitted with the key of fingerprint"),
            ([*keyed, "--on-unknown-group", "x"], "on_unknown_group must name a group of the model"),
            ([*keyed, "--port", "70000"], "port must be a whole number from 0 to 65,535, got 70000"),
            ([*keyed, "--workers", "0"], "workers must be a whole number from 1 to 256, got 0"),
            ([*keyed, "--id-type", "x"], "id_type must be 'integer' or 'text', got 'x'"),
            ([*keyed, "--port", port], f"must be able to listen on '127.0.0.1', port {port}"),
            ([*keyed, "--host", "no.such.host.invalid"], "must be able to listen on 'no.such.host.invalid'"),
        ):
            assert main(["serve", *flags]) == 2
            told = capsys.readouterr()
            assert words in told.err and told.err.count("\n") == 1 and not told.out and KEY not in told.err


def test_small_answers_do_not_wait_for_an_acknowledgement() -> None:
    """asyncio sets TCP_NODELAY on sockets that name their protocol."""
    from fairroc.serving.server import listen

    with listen("127.0.0.1", 0) as sock, socket.create_connection(sock.getsockname()), sock.accept()[0] as accepted:
        assert sock.proto == accepted.proto == socket.IPPROTO_TCP


def test_what_is_missing_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("fairroc.cli.serve.find_spec", lambda name: None)
    assert main(["serve", "--model", str(folder / "model.json")]) == 2
    assert "pip install 'fairroc[serve]'" in capsys.readouterr().err
