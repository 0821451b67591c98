"""What fits say of new people, and what these get, by whichever fairroc is on the path.

Run as a file it reads jobs from the standard input, a line of JSON each, and prints what came out, a line each:
``PYTHONPATH=TREE/src:studies/src python -P new_child.py "{promise: epsilons}"``.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import fairroc
from fairroc.core.kernel import Kernel
from fairroc.core.realised import Performance
from fairroc.fitting.fit import Fitted, fit_quietly
from fairroc.options import Options
from fairroc.people.door import read_people
from fairroc.people.people import People
from fairroc_studies.harness.outcome import outcome
from fairroc_studies.harness.people import Part, load
from fairroc_studies.questions.new_families import KNOWN, Job, sample

Judge = Callable[[Sequence[Kernel]], Performance]
Points = list[dict[str, Any]]


def read(part: Part) -> People:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return read_people(part.scores, part.labels, sensitive_features=part.groups)


def judge_of(others: Part) -> Judge:
    """Measures on people left over."""
    people = read(others).exact
    return lambda kernels: outcome(kernels, people)


def whom(family: str = "", rows: int = 0, seed: int = 0, case: str = "") -> tuple[People, Judge]:
    """People to fit to, and what measures a fair score: a sample of a family, or the people of a file."""
    if family:
        return read(sample(Job(family, rows, seed))), KNOWN[family].outcome
    people = load(case)
    return read(people.calibration), judge_of(people.test)


def begun(people: People, promise: str, epsilon: float) -> Fitted:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fit_quietly(people, Options.checked(epsilon=epsilon, promise=promise), salt=0)


def path(fitted: Fitted, epsilons: Sequence[float], judge: Judge) -> Iterator[dict[str, Any]]:
    """At every epsilon the gap and AUC of new people, and what was stated, with its deviation."""
    for epsilon in epsilons:
        solution = fitted.solver.at(epsilon)
        kernels = () if solution is None else solution.kernels
        there, told = judge(kernels), fitted.solver.expected(solution)
        found = {"epsilon": epsilon, "gap": there.gap, "auc": there.auc}
        yield found | {"stated": told.gap, "error": told.gap_deviation, "kernels": kernels}


def plain(points: Iterator[dict[str, Any]]) -> Points:
    """Points without their kernels."""
    return [{name: value for name, value in point.items() if name != "kernels"} for point in points]


def main() -> None:
    asked = json.loads(sys.argv[1])
    print(json.dumps(fairroc.__file__), flush=True)
    for line in sys.stdin:
        people, judge = whom(**json.loads(line))
        fits = {name: (begun(people, name, epsilons[0]), epsilons) for name, epsilons in asked.items()}
        print(json.dumps({name: plain(path(*fit, judge)) for name, fit in fits.items()}), flush=True)


if __name__ == "__main__":
    main()
