"""The command `fairroc serve`: a model behind HTTP."""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from typing import Any

from fairroc.cli.arguments import add_model, add_options, values
from fairroc.cli.output import say
from fairroc.errors import FairrocError
from fairroc.options import ALLOW_OUT_OF_RANGE, KEY, ON_UNKNOWN_GROUP, SERVE, checked

OPTIONS = (*SERVE, KEY, ON_UNKNOWN_GROUP, ALLOW_OUT_OF_RANGE)


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "serve",
        help="answer requests for fair scores and explanations over HTTP",
        description="Fair scores and explanations over HTTP, the same bits as 'fairroc transform'. There is neither "
        "TLS nor a password: listen on this machine, or behind a proxy that has both. Stops on SIGTERM.",
    )
    add_model(parser)
    add_options(parser, OPTIONS)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run it."""
    if missing := [name for name in ("starlette", "uvicorn") if find_spec(name) is None]:
        raise FairrocError(f"the service needs {' and '.join(missing)}; install with: pip install 'fairroc[serve]'.")
    from fairroc.serving.app import Service
    from fairroc.serving.payload import Settings
    from fairroc.serving.server import listen, serve

    asked = checked(OPTIONS, values(arguments, OPTIONS))
    host, port, workers = (asked.pop(name) for name in ("host", "port", "workers"))
    settings = Settings(model=arguments.model, **asked)
    service = Service(settings)  # what cannot be served is said before anybody can ask
    with listen(host, port) as sock:
        name, number = sock.getsockname()[:2]
        where = f"http://{f'[{name}]' if ':' in name else name}:{number}"
        if settings.log_format == "text":
            keyed = ", with its key" if settings.key else ""
            say(f"model {service.checksum}{keyed} on {where}, described at {where}/docs; Ctrl-C stops")
        return serve(service, sock, workers, where)
