"""Every study by name: ``python -m fairroc_studies NAME [OPTIONS]``; without a name, the list of them."""

from __future__ import annotations

import ast
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

STUDIES = {
    "backends": "speed.backends",
    "bench": "speed.bench",
    "blind": "questions.blind",
    "commands": "speed.commands",
    "engines": "speed.engines",
    "gpu": "speed.gpu",
    "serve": "speed.serve",
    "sql": "speed.sql",
    "streaming": "speed.streaming",
    "transform": "speed.transform",
    "coupling": "questions.coupling",
    "constraints": "questions.constraints",
    "coverage": "questions.coverage",
    "crossfit": "questions.crossfit",
    "draws": "questions.draws",
    "drift": "questions.drift",
    "fairprojection": "paper.stored",
    "froc": "questions.froc",
    "linearpost": "questions.linearpost",
    "one-draw": "questions.one_draw",
    "plots": "questions.plots",
    "new": "questions.new",
    "prior": "questions.prior",
    "verify": "questions.verify",
    "rivals": "peers.rivals",
    "people": "problems.scores",
}
"""Names of the studies, and the modules that hold their ``main()``."""


def main() -> int:
    """Run the study that the first argument names; the exit code."""
    name = sys.argv[1] if len(sys.argv) > 1 else "--help"
    if name in ("-h", "--help"):
        width = max(map(len, STUDIES))
        print("python -m fairroc_studies NAME [OPTIONS]; `fairroc reproduce` runs the paper's experiments.\n")
        print("\n".join(f"  {study:{width}}  {summary(study)}" for study in STUDIES))
        return 0
    if name not in STUDIES:
        print(f"the study must be one of {', '.join(STUDIES)}; got {name!r}.", file=sys.stderr)
        return 2
    sys.argv = [f"python -m fairroc_studies {name}", *sys.argv[2:]]
    return int(import_module(f"fairroc_studies.{STUDIES[name]}").main() or 0)


def summary(study: str) -> str:
    """The first line of a study's text, read without loading what it needs."""
    spec = find_spec(f"fairroc_studies.{STUDIES[study]}")
    text = "" if spec is None or spec.origin is None else Path(spec.origin).read_text(encoding="utf-8")
    return (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]


if __name__ == "__main__":
    sys.exit(main())
