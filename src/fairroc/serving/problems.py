"""Whatever cannot be answered, in one shape: problem details after RFC 9457."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

PAGE = "https://fairroc.github.io/fairroc/guides/service.html"
TITLES = {
    "invalid-http": (400, "This is not HTTP/1.1"),
    "invalid-json": (400, "The body is not JSON"),
    "not-found": (404, "There is nothing here"),
    "method-not-allowed": (405, "This path does not take this method"),
    "request-timeout": (408, "The request did not arrive in time"),
    "body-too-large": (413, "The body is too large"),
    "too-many-people": (413, "There are too many people in one request"),
    "unsupported-media-type": (415, "The body must be JSON"),
    "invalid-request": (422, "Some values cannot be used"),
    "unknown-group": (422, "The model does not know a group"),
    "out-of-range": (422, "Most scores lie outside of the range of those fitted"),
    "internal-error": (500, "The service failed"),
    "busy": (503, "The service is busy"),
    "stopping": (503, "The service is stopping"),
}
"""Status and title of every kind of problem; docs/guides/service.md lists them."""


class Problem(Exception):  # noqa: N818 - the word of RFC 9457
    """A request that gets no answer but why."""

    def __init__(
        self,
        kind: str,
        detail: str,
        errors: Sequence[Mapping[str, str]] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(kind)  # not the detail: it can hold what was sent, and exceptions are logged
        self.kind, self.detail, self.errors, self.headers = kind, detail, errors, dict(headers or {})

    @property
    def status(self) -> int:
        return TITLES[self.kind][0]

    def body(self) -> bytes:
        """The problem as JSON."""
        status, title = TITLES[self.kind]
        found: dict[str, Any] = {
            "type": f"{PAGE}#{self.kind}",
            "title": title,
            "status": status,
            "detail": self.detail,
        }
        if self.errors:
            found["errors"] = list(self.errors)
        return json.dumps(found).encode()


def busy(why: str) -> Problem:
    """A request that may be sent again."""
    return Problem("busy", f"Nothing was done: {why}. Send the request again.", headers={"retry-after": "1"})
