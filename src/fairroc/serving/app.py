"""The service as an ASGI application: what is asked for, within which limits, and one line of log for each request."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from fairroc.fairmodel import FairModel
from fairroc.model.draw import Secret, read_key_file
from fairroc.people.rows import LARGEST, known_groups
from fairroc.serving.describe import ALIVE, facts, known_people, openapi, page
from fairroc.serving.log import event, failure
from fairroc.serving.payload import Payload, Rules, Settings, answer, explanation, fair_scores, parsed, people_of
from fairroc.serving.problems import Problem, busy

SMALL = 1 << 14
"""Bytes of a body up to which the work is done at once; more goes to a thread, and others are answered meanwhile."""

THREADS = 2
"""Large requests that are worked on at a time: most of the work holds Python's lock, and memory grows with each."""

HELD = 16
"""Bodies of the largest size whose bytes may be in memory at a time, all requests together."""

GONE = 499
"""Status in the log of a request whose client went away."""

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


@dataclass(frozen=True, slots=True, repr=False)
class Source:
    """What the files held when the service started: a worker that takes another's place serves the same."""

    model: str
    key: bytes | None


class Service:
    """One model, ready to answer."""

    def __init__(self, settings: Settings, source: Source | None = None) -> None:
        self.settings, self.stopping, self.held = settings, False, 0
        model = FairModel.load(settings.model) if source is None else FairModel.from_json(source.model)
        if source is None:
            text = Path(settings.model).read_text(encoding="utf-8")
            source = Source(text, None if settings.key is None else read_key_file(settings.key))
        self.source = source
        key = None if source.key is None else Secret(source.key)
        model.check_key(key)
        known_groups(model.names, settings.on_unknown_group)
        self.checksum: str = json.loads(source.model)["checksum"]
        self.rules = Rules(model, self.checksum, settings, key)
        described = openapi(self.rules)
        self.page = page(described)
        self.threads = ThreadPoolExecutor(THREADS, "fairroc")
        self.free = asyncio.Semaphore(THREADS)
        self.paths: dict[str, tuple[str, Endpoint]] = {
            "/v1/scores": ("POST", partial(self._work, self.scores)),
            "/v1/explanations": ("POST", partial(self._work, self.explanations)),
            "/v1/model": ("GET", partial(_same, _json(facts(self.rules)))),
            "/health/live": ("GET", partial(_same, _json(ALIVE))),
            "/health/ready": ("GET", self.ready),
            "/openapi.json": ("GET", partial(_same, _json(described))),
            "/docs": ("GET", self.docs),
        }
        self.routes = Starlette(
            routes=[
                Route(path, self._endpoint(answer), methods=[method]) for path, (method, answer) in self.paths.items()
            ],
            exception_handlers={HTTPException: _no_route},
        )
        self.routes.router.redirect_slashes = False

    def warm(self) -> None:
        """Load now what the first requests would wait for: tables, and for ids that are text Arrow."""
        rules, n = self.rules, 20
        kinds: dict[str | None, tuple[type, ...]] = {"integer": (int,), "text": (str,), None: (int, str)}
        score = max(rules.model.score_range[0], -LARGEST)
        for kind in kinds[self.settings.id_type]:
            ids = [kind(i) for i in range(n)]
            told = {field: [value] * n for field, value in known_people(rules)[0].items()}
            fair_scores(Payload("columns", [score] * n, **told, id=ids), rules)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.routes(scope, receive, send)
            return
        begin, status, sent, mark = time.perf_counter(), GONE, 0, secrets.token_hex(8)

        async def watched(message: Message) -> None:
            nonlocal status, sent
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [
                    *message["headers"],
                    (b"x-request-id", mark.encode()),
                    (b"cache-control", b"no-store"),
                    (b"x-content-type-options", b"nosniff"),
                    *([(b"connection", b"close")] if self.stopping else []),
                ]
            sent += len(message.get("body", b""))
            await send(message)

        try:
            await self.routes(scope, receive, watched)
        finally:
            state = scope.get("state", {})
            event(
                "request",
                method=scope["method"] if scope["method"] in METHODS else "(other)",
                path=scope["path"] if scope["path"] in self.paths else "(other)",  # others could hold anything
                status=status,
                people=state.get("people"),
                bytes_in=state.get("read"),
                bytes_out=sent,
                ms=round(1000 * (time.perf_counter() - begin), 2),
                request=mark,
            )

    def _endpoint(self, answer: Endpoint) -> Endpoint:
        async def endpoint(request: Request) -> Response:
            try:
                return await answer(request)
            except Problem as problem:
                return _refusal(problem)
            except ClientDisconnect:  # nobody reads this
                return Response(status_code=GONE)
            except Exception as error:
                failure(error)
                return _refusal(
                    Problem("internal-error", "Nothing was answered; the service's log says where it failed.")
                )

        return endpoint

    # ---- answers ---------------------------------------------------------------------------------------------------

    def scores(self, body: bytes) -> tuple[bytes, int]:
        """Fair scores of the people in the body, in the form in which they came."""
        people = people_of(parsed(body, self.rules), self.rules)
        fair, notes = fair_scores(people, self.rules)
        return _json(answer(people, fair.tolist(), notes, self.rules)), len(fair)

    def explanations(self, body: bytes) -> tuple[bytes, int]:
        """What can happen to one person."""
        return _json(explanation(parsed(body, self.rules), self.rules)), 1

    async def ready(self, request: Request) -> Response:
        """New requests are welcome."""
        if self.stopping:
            raise Problem("stopping", "Requests in flight are answered; send new ones elsewhere.")
        return _answer(_json({"status": "ok", "model": self.checksum}))

    async def docs(self, request: Request) -> Response:
        """The service described for people: one page that loads nothing."""
        policy = {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'"}
        return HTMLResponse(self.page, headers=policy)

    # ---- bodies and limits -------------------------------------------------------------------------------------------

    async def _work(self, work: Callable[[bytes], tuple[bytes, int]], request: Request) -> Response:
        """The answer to a body: at once, or in a thread as soon as one is free."""
        _check_type(request.headers)
        chunks: list[bytes] = []
        try:
            body = await self._body(request, chunks)
            request.state.read = len(body)
            if len(body) <= SMALL:
                answer, request.state.people = work(body)
                return _answer(answer)
            try:
                async with asyncio.timeout(self.settings.timeout):
                    await self.free.acquire()
            except TimeoutError:
                raise busy("no thread was free in time") from None
            try:
                loop = asyncio.get_running_loop()
                answer, request.state.people = await loop.run_in_executor(self.threads, work, body)
            finally:
                self.free.release()
            return _answer(answer)
        finally:
            self.held -= sum(map(len, chunks))

    async def _body(self, request: Request, chunks: list[bytes]) -> bytes:
        """All of a body, within the limits of size and time."""
        most, settings = self.settings.largest, self.settings
        large = Problem("body-too-large", f"A body may have {most:,} bytes at most (--max-body); send fewer people.")
        if int(request.headers.get("content-length", 0)) > most:
            raise large
        size = 0
        try:
            async with asyncio.timeout(settings.timeout):
                async for chunk in request.stream():
                    size += len(chunk)
                    if size > most:
                        raise large
                    if self.held + len(chunk) > HELD * most:
                        raise busy("the bodies of other requests fill the memory set aside for them")
                    self.held += len(chunk)
                    chunks.append(chunk)
        except TimeoutError:
            words = f"A request must arrive within {settings.timeout:g} seconds (--timeout); {size:,} bytes did."
            raise Problem("request-timeout", words, headers={"connection": "close"}) from None
        return b"".join(chunks)


def _check_type(headers: Mapping[str, str]) -> None:
    """Raise unless a body is plain JSON."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    coding = headers.get("content-encoding", "identity").lower()
    if kind != "application/json" or coding != "identity":
        got = f"Content-Type {kind or '(none)'}" if coding == "identity" else "a compressed body"
        words = f"Send JSON, not compressed, with the header Content-Type: application/json; got {got[:80]}."
        raise Problem("unsupported-media-type", words)


def _json(data: dict[str, Any]) -> bytes:
    """Floats are written so that they come back bit for bit."""
    return json.dumps(data, allow_nan=False).encode()


def _answer(body: bytes) -> Response:
    return Response(body, media_type="application/json")


async def _same(body: bytes, request: Request) -> Response:
    """The same answer to everybody."""
    return _answer(body)


def _refusal(problem: Problem) -> Response:
    kind = "application/problem+json"
    return Response(problem.body(), problem.status, headers=problem.headers, media_type=kind)


def _no_route(request: Request, error: Exception) -> Response:
    """No such path, or not this method."""
    if isinstance(error, HTTPException) and error.status_code == 405:
        allowed = dict(error.headers or {})
        words = f"This path takes {allowed.get('Allow', 'other methods')}. GET /openapi.json lists all paths."
        return _refusal(Problem("method-not-allowed", words, headers=allowed))
    return _refusal(Problem("not-found", "GET /openapi.json lists all paths."))
