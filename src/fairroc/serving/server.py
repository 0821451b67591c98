"""The service as processes: sockets, patience with slow clients, workers, and an end that drops no request."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import socket
import time
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from multiprocessing.connection import wait
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from fairroc.errors import DataError
from fairroc.serving.app import Service, Source
from fairroc.serving.log import configure, event
from fairroc.serving.payload import Settings
from fairroc.serving.problems import Problem, busy

SLACK = 2.0
"""Seconds after which a connection ends that the application could not end by an answer."""

LAST = 0.05
"""Seconds that an idle connection is kept when the service stops: a request may be on its way."""

KEPT = 75
"""Seconds that an idle connection is kept: more than proxies and load balancers have, so that they close it first."""

MOST, RESERVE = 4096, 128
"""Connections of one process at a time, and files that the system must let it open beside them. Who comes when there is
no room is told so: without files left, asyncio would take nobody and log that thousands of times a second."""

WAITING, AT_ONCE = 2048, 16
"""Connections that the system holds until they are taken, and those taken in one turn of the event loop: few, for they
are counted only after it."""


class PatientProtocol(H11Protocol):
    """HTTP/1.1 with a clock on each connection: a client that neither sends nor takes what is due is cut off."""

    clock: asyncio.TimerHandle | None = None
    room = MOST

    @property
    def patience(self) -> float:
        seconds: float = self.app.settings.timeout
        return seconds + SLACK

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self.room:
            event("too many connections, one refused")
            self._refuse(busy("too many connections are open"))
        else:
            self._start()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.clock is None:
            self._start()
        super().data_received(data)

    def on_response_complete(self) -> None:
        self._stop()
        super().on_response_complete()
        if self._busy or self.conn.their_state is h11.SEND_BODY or self.transport.get_write_buffer_size():
            self._start()

    def send_400_response(self, msg: str) -> None:
        self._refuse(Problem("invalid-http", f"{msg.rstrip('.')}."))

    def _refuse(self, problem: Problem) -> None:
        """Answer with a problem before there is a request, and hang up."""
        body = problem.body()
        headers = [
            ("content-type", "application/problem+json"),
            ("content-length", str(len(body))),
            ("connection", "close"),
            *problem.headers.items(),
        ]
        head = h11.Response(status_code=problem.status, headers=headers)
        with suppress(h11.LocalProtocolError):  # an answer was given already
            for part in (head, h11.Data(data=body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(part) or b"")
        self.transport.close()

    def shutdown(self) -> None:
        self.loop.call_later(0.0 if self._busy else LAST, super().shutdown)

    @property
    def _busy(self) -> bool:
        """Whether a request is being answered."""
        return self.cycle is not None and not self.cycle.response_complete

    def _start(self) -> None:
        self._stop()
        self.clock = self.loop.call_later(self.patience, self._judge)

    def _stop(self) -> None:
        if self.clock is not None:
            self.clock.cancel()
            self.clock = None

    def _judge(self) -> None:
        """Cut off a client that keeps us waiting; look again later at one that waits for us."""
        ours = self._busy and self.conn.their_state is not h11.SEND_BODY and not self.flow.write_paused
        if ours:
            self._start()
        elif not self.transport.is_closing() or self.transport.get_write_buffer_size():
            event("client too slow, connection closed")
            self.transport.abort()


class _Server(uvicorn.Server):
    """A server that goes on answering for some seconds after it was told to stop, and then ends as one that is done."""

    stop_at: float | None = None

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self.service, self.parent = service, multiprocessing.parent_process()
        for number in (signal.SIGTERM, signal.SIGINT):  # from now on, not only once the server runs
            signal.signal(number, self.handle_exit)

    def handle_exit(self, sig: int, frame: Any) -> None:
        if self.stop_at is None:
            self.service.stopping, self.stop_at = True, time.monotonic() + self.service.settings.drain
        elif sig == signal.SIGINT:  # Ctrl-C again: at once; a third time: now. SIGTERM may come from two sides
            self.should_exit, self.force_exit = True, self.should_exit

    async def on_tick(self, counter: int) -> bool:
        if self.stop_at is None and self.parent is not None and not self.parent.is_alive():
            self.handle_exit(signal.SIGTERM, None)  # nobody else would say so
        self.should_exit = self.should_exit or (self.stop_at is not None and time.monotonic() >= self.stop_at)
        return await super().on_tick(counter)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for sock in sockets or []:
            sock.listen(WAITING)  # the server took AT_ONCE for this too

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let in who is at the door, shut it, and answer all who are in."""
        waiting = []
        for sock in sockets or []:
            with suppress(OSError):  # nobody is left
                while True:
                    waiting.append(sock.accept()[0])
        for server in self.servers:
            server.close()
        loop = asyncio.get_running_loop()
        for one in waiting:
            made = partial(PatientProtocol, self.config, self.server_state, self.lifespan.state, loop)
            await loop.connect_accepted_socket(made, one)
        await super().shutdown(sockets)


def listen(host: str, port: int) -> socket.socket:
    """A socket that takes connections, or an error that says why not."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        made = socket.create_server((host, port), family=family, backlog=WAITING)
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise DataError(
            f"the service must be able to listen on {host!r}, port {port}, but the system refused ({why}). Take "
            "another --port (0: any free one) or --host, or stop what listens there."
        ) from None
    # By its protocol asyncio knows a socket whose small answers must not wait for an acknowledgement (TCP_NODELAY).
    return socket.socket(made.family, made.type, socket.IPPROTO_TCP, fileno=made.detach())


def serve(service: Service, sock: socket.socket, workers: int, url: str) -> int:
    """Answer requests until SIGTERM or SIGINT; the exit code."""
    configure(service.settings.log_format)
    event("listening", url=url, model=service.checksum, workers=workers)
    if workers > 1:
        _supervise(service, sock, workers)
    else:
        _answer(service, sock)
    return 0


def _worker(settings: Settings, source: Source, sock: socket.socket) -> None:
    """One process of several, with a model of its own."""
    configure(settings.log_format)
    _answer(Service(settings, source), sock)


def _answer(service: Service, sock: socket.socket) -> None:
    """Answer until told to stop."""
    config = uvicorn.Config(
        service,
        http=PatientProtocol,
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=KEPT,
        backlog=AT_ONCE,
        timeout_graceful_shutdown=max(1, round(service.settings.timeout)),
    )
    service.warm()
    PatientProtocol.room = _room()
    server = _Server(config, service)
    event("ready", pid=os.getpid())
    server.run(sockets=[sock])
    event("stopped", pid=os.getpid(), requests=server.server_state.total_requests)


def _room() -> int:
    """Connections for which this process may open files; the system's soft limit is raised as far as they need."""
    if find_spec("resource") is None:  # Windows, which has no such limit
        return MOST
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    soft, most = (MOST + RESERVE if limit == resource.RLIM_INFINITY else limit for limit in (soft, hard))
    if soft < (wanted := min(MOST + RESERVE, most)):
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
    return max(1, min(MOST, soft - RESERVE))


def _supervise(service: Service, sock: socket.socket, workers: int) -> None:
    """Start processes that answer, replace one that dies, and stop all when told to."""
    context = multiprocessing.get_context("spawn")
    stop: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, frame: stop.append(number))

    def start() -> Any:
        process = context.Process(target=_worker, args=(service.settings, service.source, sock))
        process.start()
        return process

    running = [start() for _ in range(workers)]
    while not stop:
        wait([process.sentinel for process in running], timeout=0.2)
        for process in [process for process in running if not process.is_alive()]:
            running.remove(process)
            if not stop:
                event("a worker died, another is started", pid=process.pid, code=process.exitcode)
                time.sleep(0.5)  # not as fast as the machine can, where none can live
                running.append(start())
    sock.close()  # else the system would go on taking connections that nobody answers
    for process in running:
        process.terminate()
    for process in running:
        process.join()
