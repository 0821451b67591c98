"""`fairroc serve` under load, with faults mixed in: requests/s, p50, p99, memory, and whether every answer is right.

    python -m fairroc_studies serve
    python -m fairroc_studies serve --seconds 5 --clients 16 --workers 2

A model is fitted to generated people and served by a process of its own; clients keep their connections and send one
request after the other. Every good answer is compared with `FairModel.transform`, bit for bit. With ``faults`` a part
of the clients misbehaves all the time: broken JSON, unknown groups, bodies that are too large (announced, and in chunks
without a length), bodies and headers that trickle in, and clients that hang up. Each must get the answer that is due.
At the end the service is told to stop under load, and every request that was sent must have been answered.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np

from fairroc import FairModel, FairROC
from fairroc_studies.speed.engines import people

MAX_BODY = 1_000_000
HEAD = "POST /v1/scores HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"


@dataclass(frozen=True)
class Request:
    """Bytes to send, and the fair scores that must come back."""

    data: bytes
    fair: list[float]


@dataclass
class Tally:
    """What clients saw."""

    seconds: list[float] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)


def framed(body: bytes) -> bytes:
    return f"{HEAD}Content-Length: {len(body)}\r\n\r\n".encode() + body


def requests_of(model: FairModel, size: int, number: int) -> list[Request]:
    """Requests for so many people each: as one person, or as columns."""
    table = people(size * number, 0)
    made = []
    for begin in range(0, size * number, size):
        part = table.slice(begin, size)
        score, group, ids = (part[name].to_pylist() for name in ("p", "g", "id"))
        fair = model.transform(score, sensitive_features=group, ids=ids).tolist()
        columns: dict[str, Any] = {"scores": score, "groups": group, "ids": ids}
        one: dict[str, Any] = {"score": score[0], "group": group[0], "id": ids[0]}
        made.append(Request(framed(json.dumps(columns if size > 1 else one).encode()), fair))
    return made


async def answer(reader: asyncio.StreamReader) -> tuple[int, bool, Any]:
    """Status, whether the connection ends, and the body of one response."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    length = re.search(r"content-length: (\d+)", head)
    body = await reader.readexactly(int(length[1]) if length else 0)
    return int(head.split()[1]), "connection: close" in head, json.loads(body)


async def good_client(port: int, requests: list[Request], until: Callable[[], bool], tally: Tally) -> None:
    """One request after the other on one connection, a new one where it was closed."""
    todo, writer = cycle(requests), None
    while not until():
        request = next(todo)
        if writer is None:
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 22)
            except OSError:
                tally.seen["not let in"] += 1  # nothing was sent
                return
        begin = time.perf_counter()
        try:
            writer.write(request.data)
            await writer.drain()
            status, ends, found = await asyncio.wait_for(answer(reader), 120)
        except (OSError, EOFError, TimeoutError):
            tally.seen["lost"] += 1
            writer = None
            continue
        tally.seconds.append(time.perf_counter() - begin)
        scores = found.get("fair_scores", [found.get("fair_score")])
        tally.seen["right" if status == 200 and scores == request.fair else f"wrong ({status})"] += 1
        if ends:
            writer.close()
            writer = None
    if writer is not None:
        writer.close()


async def send(port: int, *parts: bytes, pause: float = 0.0) -> int | None:
    """Send parts with pauses on a connection of one's own; the status of the answer, None if there was none."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    coming = asyncio.create_task(answer(reader))  # it may come before all is sent
    with suppress(OSError):
        for part in parts:
            if not coming.done():
                writer.write(part)
                await writer.drain()
                await asyncio.sleep(pause)
    try:
        return (await asyncio.wait_for(coming, 60))[0]
    except (OSError, EOFError):
        return None
    finally:
        writer.close()


async def hang_up(port: int, request: Request) -> None:
    """Send all, and go without the answer."""
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request.data)
    await writer.drain()
    writer.transport.abort()


def faults(
    port: int, some: Request, timeout: float
) -> dict[str, tuple[Callable[[], Awaitable[int | None]], int | None]]:
    """What clients do wrong, and the status that is due; None: the connection is cut."""
    unknown = framed(b'{"score": 0.5, "group": "nowhere", "id": 1}')
    chunk = b"%x\r\n%s\r\n" % (1 << 16, b" " * (1 << 16))
    chunked = f"{HEAD}Transfer-Encoding: chunked\r\n\r\n".encode()
    slow, steps = some.data[:60], 20

    async def gone() -> None:
        await hang_up(port, some)

    def trickled(data: bytes) -> list[bytes]:
        return [data, *[b" "] * steps]

    return {
        "broken JSON": (lambda: send(port, framed(b'{"score": 0.5, "gro')), 400),
        "unknown group": (lambda: send(port, unknown), 422),
        "too large, announced": (lambda: send(port, framed(b" " * (MAX_BODY + 1))), 413),
        "too large, in chunks": (lambda: send(port, chunked, *[chunk] * (MAX_BODY // (1 << 16) + 2)), 413),
        "body trickles in": (lambda: send(port, *trickled(framed(b" " * 99)[:-60]), pause=2 * timeout / steps), 408),
        "headers trickle in": (lambda: send(port, *trickled(slow), pause=(timeout + 4) / steps), None),
        "hang up": (gone, None),
    }


async def bad_client(
    fault: Callable[[], Awaitable[int | None]], due: int | None, name: str, until: Callable[[], bool], tally: Tally
) -> None:
    while not until():
        status = await fault()
        tally.seen[name if status == due else f"wrong answer to {name} ({status})"] += 1
        await asyncio.sleep(0.02)


async def phase(
    port: int, requests: list[Request], clients: int, seconds: float, timeout: float, faulty: bool
) -> tuple[Tally, Tally]:
    """Some seconds of load."""
    end = time.monotonic() + seconds
    good, bad = Tally(), Tally()

    def until() -> bool:
        return time.monotonic() >= end

    parts = [requests[i::clients] for i in range(clients)]
    work = [good_client(port, part, until, good) for part in parts]
    if faulty:
        work += [bad_client(f, due, name, until, bad) for name, (f, due) in faults(port, requests[0], timeout).items()]
    await asyncio.gather(*work)
    return good, bad


async def stopping(port: int, requests: list[Request], clients: int, pid: int) -> Tally:
    """Load, and SIGTERM in the middle of it: clients go on until they are not let in."""
    tally = Tally()
    parts = [requests[i::clients] for i in range(clients)]
    work = asyncio.gather(*(good_client(port, part, lambda: False, tally) for part in parts))
    await asyncio.sleep(1.0)
    subprocess.run(["kill", "-TERM", str(pid)], check=True)
    await asyncio.wait_for(work, 60)
    return tally


def used(pid: int) -> tuple[float, float]:
    """CPU seconds of a process and its children, and their peak resident memory in MB."""
    family = [str(pid), *Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()]
    ticks = [Path(f"/proc/{one}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[11:13] for one in family]
    peaks = [re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{one}/status").read_text(encoding="utf-8")) for one in family]
    seconds = sum(int(tick) for both in ticks for tick in both) / os.sysconf("SC_CLK_TCK")
    return seconds, sum(int(peak[1]) for peak in peaks if peak) / 1024


def line(name: str, size: int, tally: Tally, seconds: float, cpu: float, megabytes: float) -> str:
    times = np.array(tally.seconds) * 1000
    rate, (half, most) = len(times) / seconds, np.percentile(times, [50, 99])
    wrong = sum(number for what, number in tally.seen.items() if what != "right")
    return (
        f"| {name} | {rate:,.0f} | {rate * size:,.0f} | {half:.1f} | {most:.1f} | {1000 * cpu / len(times):.2f} | "
        f"{megabytes:.0f} | {tally.seen['right']:,} | {wrong} |"
    )


async def measured(asked: argparse.Namespace, model: FairModel, process: subprocess.Popen[str], port: int) -> int:
    """Print the tables; the number of wrong or lost answers."""
    single, batch = requests_of(model, 1, 64 * asked.clients), requests_of(model, asked.people, 4 * asked.clients)
    heads = ["load", "requests/s", "people/s", "p50, ms", "p99, ms", "CPU ms each", "peak MB", "right", "wrong or lost"]
    print(f"| {' | '.join(heads)} |\n{'|---' * len(heads)}|")
    await phase(port, single, asked.clients, 1.0, asked.timeout, False)  # warm
    failed, seen = 0, Counter[str]()
    for faulty in (False, True):
        for requests, size in ((single, 1), (batch, asked.people)):
            before = used(process.pid)[0]
            good, bad = await phase(port, requests, asked.clients, asked.seconds, asked.timeout, faulty)
            after, megabytes = used(process.pid)
            name = f"{size:,} {'person' if size == 1 else 'people'} a request{', with faults' if faulty else ''}"
            print(line(name, size, good, asked.seconds, after - before, megabytes), flush=True)
            failed += sum(number for what, number in good.seen.items() if what != "right")
            seen += bad.seen
    print("\n| fault | due | times | all as due |\n|---|---|---|---|")
    for name, (_, due) in faults(port, single[0], asked.timeout).items():
        wrong = sum(number for what, number in seen.items() if what.startswith(f"wrong answer to {name}"))
        print(f"| {name} | {due or 'connection cut'} | {seen[name] + wrong:,} | {'no' if wrong else 'yes'} |")
        failed += wrong
    last = await stopping(port, single, asked.clients, process.pid)
    code = process.wait(60)
    lost = sum(number for what, number in last.seen.items() if what not in ("right", "not let in"))
    print(f"\nStopped under load: {last.seen['right']:,} requests sent and answered, {lost} lost, exit code {code}.")
    return failed + lost + (code != 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10, help="of each kind of load")
    parser.add_argument("--clients", type=int, default=8, help="good clients at a time")
    parser.add_argument("--people", type=int, default=1000, help="in a large request")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=2, help="of the service, in seconds")
    parser.add_argument("--drain", type=float, default=1, help="of the service, in seconds")
    parser.add_argument("--id-type", help="of the service: integer needs less memory")
    asked = parser.parse_args()
    table = people(9000, 0)
    model = (
        FairROC(promise="fitted", salt=0)
        .fit(table["p"].to_numpy(), table["y"].to_numpy(), sensitive_features=table["g"])
        .model_
    )
    with tempfile.TemporaryDirectory() as folder:
        model.save(f"{folder}/model.json")
        command = [sys.executable, "-m", "fairroc", "serve", "--model", f"{folder}/model.json", "--port", "0"]
        limits: dict[str, Any] = {
            "workers": asked.workers,
            "timeout": asked.timeout,
            "drain": asked.drain,
            "max-body": MAX_BODY / 1e6,
        }
        limits |= {} if asked.id_type is None else {"id-type": asked.id_type}
        command += [word for name, value in limits.items() for word in (f"--{name}", str(value))]
        begin = time.perf_counter()
        with (
            Path(folder, "log").open("w+", encoding="utf-8") as log,
            subprocess.Popen(command, stderr=log, text=True) as process,
        ):
            try:
                while (
                    log.seek(0)
                    or (found := re.search(r"http://127.0.0.1:(\d+)[^\n]*\n.*ready", log.read(), re.S)) is None
                ):
                    if process.poll() is not None:
                        raise RuntimeError(Path(folder, "log").read_text(encoding="utf-8"))
                    time.sleep(0.05)
                print(f"Ready after {time.perf_counter() - begin:.1f} s.\n")
                return 1 if asyncio.run(measured(asked, model, process, int(found[1]))) else 0
            finally:
                if process.poll() is None:
                    process.send_signal(signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main())
