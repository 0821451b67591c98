"""The command line: one command of `fairroc` is parsed and run, and whatever goes wrong is said in one line.

Data goes to standard output, words to standard error. Exit 0: done; 1: an audit found a gap above epsilon; 2: could
not run (one line says why, and no output file is touched). Each command is a module with `add_parser`; what takes long
to load is imported when a command runs.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from fairroc._version import __version__
from fairroc.cli.output import one_command, say
from fairroc.errors import FairrocError

COMMANDS = tuple(
    import_module(f"fairroc.cli.{name}")
    for name in (
        *("audit", "fit", "transform", "froc", "frontier", "report", "threshold", "explain", "monitor", "verify"),
        *("serve", "table", "sql", "onnx", "reproduce", "demo"),
    )
)
"""In the order in which help lists them."""


class _Parser(argparse.ArgumentParser):
    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._negative_number_matcher = re.compile(r"-(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$")  # older Pythons: no exponents

    def error(self, message: str) -> NoReturn:
        """Errors of usage in one line, like all others."""
        say(f"{self.prog}: {' '.join(message.split())}; see '{self.prog} --help'.")
        raise SystemExit(2)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    if sys.stderr is None:  # closed: words go nowhere, and no file gets its number and what libraries print there
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - for as long as the process
    arguments = _parser().parse_args(argv)
    arguments.words = [*(sys.argv[1:] if argv is None else argv)]
    if sys.stdout is None:
        say(f"fairroc {arguments.command}: the standard output is closed; send it somewhere, such as > /dev/null.")
        return 2
    run: Callable[[argparse.Namespace], int] = arguments.run
    with warnings.catch_warnings(), one_command():
        warnings.showwarning = partial(_show_warning, getattr(arguments, "verbose", False))
        warnings.simplefilter("always")
        try:
            return run(arguments)
        except FairrocError as error:
            say(f"fairroc {arguments.command}: {' '.join(str(error).split())}")
            return 2
        except MemoryError:
            say(f"fairroc {arguments.command}: not enough memory for this file.")
            return 2
        except KeyboardInterrupt:
            say("stopped.")
            return 130
        except Exception as error:  # an exit code of 1 would mean that an audit found a gap
            if os.environ.get("FAIRROC_TRACEBACK"):
                raise
            say(f"fairroc {arguments.command}: {_unexpected(error)}")
            return 2


def _unexpected(error: Exception) -> str:
    """An error nobody foresaw, in one line."""
    words = " ".join(str(error).split()) or "no message"
    if isinstance(error, OSError):
        return f"the system refused ({words}); check disk space, permissions and paths."
    return f"unexpected {type(error).__name__} ({words}); please report it, with FAIRROC_TRACEBACK=1 set for details."


def _show_warning(verbose: bool, message: Warning | str, *_: Any) -> None:
    """A warning in one line; its details in another, for who asks for them."""
    detail = getattr(message, "detail", "")
    say(f"warning: {' '.join(str(message).split())}{' (--verbose says more)' if detail and not verbose else ''}")
    if detail and verbose:
        say(f"  {' '.join(detail.split())}")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="fairroc",
        description="Make a trained classifier's score fair at every threshold, at the least loss of AUC.",
        epilog="DATA is CSV (also .gz), Parquet or Arrow, by its suffix, a folder of such files or a pattern in "
        "quotes; large data are read in batches. Start with: fairroc demo",
    )
    parser.add_argument("--version", action="version", version=f"fairroc {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in COMMANDS:
        command.add_parser(commands)
    return parser
