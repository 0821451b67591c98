"""Parameters: what passes, the text of every refusal, and that each is declared in one place alone."""

from __future__ import annotations

import dataclasses
import inspect
import math
import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairroc import (
    FairModel,
    FairROC,
    FairROCClassifier,
    audit,
    choose_threshold,
    count_files,
    frontier,
    write_pack,
    write_report,
)
from fairroc.cli.main import main
from fairroc.core.constraint import ONE_RATE, Difference, Ratio
from fairroc.errors import DataError
from fairroc.options import (
    AIM,
    AUDIT,
    CLASSIFIER,
    ESTIMATOR,
    FILES,
    FIT,
    FRONTIER,
    KEY,
    MONITOR,
    PACK,
    REPORT,
    SECTIONS,
    SERVE,
    Option,
    Options,
    check_audit_norm,
    check_epsilon,
    check_epsilons,
    check_missing,
    check_norm,
    checked,
    reference,
)
from refusals import refuses

DOCS = Path(__file__).parents[1] / "docs"


def test_epsilon() -> None:
    assert [check_epsilon(value) for value in (0, 0.05, np.float32(0.5), 2, Fraction(1, 4))] == [
        0,
        0.05,
        0.5,
        2,
        0.25,
    ]
    for wrong in (-0.1, 2.1, math.nan, math.inf, True, "0.1", None):
        with pytest.raises(
            DataError, match=r"epsilon must be between 0 and 2, got .*\. Try 0\.05; 0 asks for equal ROC curves"
        ):
            check_epsilon(wrong)


def test_norm() -> None:
    assert [check_norm(value) for value in (1, 1.0, "1")] == [1, 1, 1]
    assert [check_norm(value) for value in ("inf", math.inf, np.float64("inf"))] == ["inf"] * 3
    for wrong in (2, "2", True, None, math.nan, np.array([1, 2])):
        refuses(r"norm must be 1 or 'inf' to fit, .* the audit measures any p >= 1", check_norm, wrong)


def test_audit_norm() -> None:
    assert [check_audit_norm(value) for value in (1, 2.5, "2")] == [1, 2.5, 2]
    assert check_audit_norm("inf") == check_audit_norm(math.inf) == math.inf
    for wrong in (0.5, "x", True, None, math.nan):
        refuses("norm must be a number p >= 1 or 'inf', got", check_audit_norm, wrong)


NUMBERS = {
    option.name: option for option in (*ESTIMATOR, *AUDIT, *AIM, *FILES, *SERVE) if option.parse in ("number", "whole")
}


@pytest.mark.parametrize("name", sorted(NUMBERS.keys() - {"random_state"}))
def test_whole_numbers_beyond_all_floats_are_refused(name: str) -> None:
    """With the words of any other number that is too large; only a seed may be as large."""
    refuses(rf"{name}.* must .*got", NUMBERS[name].checked, 10**400)


def test_missing() -> None:
    check_missing("error")
    check_missing("group")
    for wrong in ("drop", None, True):
        refuses("missing must be 'error' or 'group', got", check_missing, wrong)


def test_epsilons() -> None:
    assert check_epsilons([0.1, 0, 0.1]) == check_epsilons(np.array([0.1, 0.0])) == (0.0, 0.1)
    assert check_epsilons(0.1) == check_epsilons(np.float64(0.1)) == check_epsilons(np.array(0.1)) == (0.1,)
    refuses("epsilons must hold at least one number", check_epsilons, [])
    for wrong in ("0.1", [0.1, None], None, [[0.1]]):
        refuses("epsilon must be between 0 and 2, got", check_epsilons, wrong)


# ---- constraints -------------------------------------------------------------------------------------------------

ONE = {"constraint": "equal_opportunity"}


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"constraint": "parity"}, "constraint must be 'equalized_odds', 'equal_opportunity', .*, got 'parity'"),
        ({"ratio": 0.8}, "ratio must be None with constraint='equalized_odds': a ratio of two rates .* Got 0.8"),
        ({"draw": "never", "queries": 20}, "draw must be 'few' or 'all' with queries, got 'never'. Leave out queries"),
        ({"draw": "never", "method": "froc"}, "draw must be 'few' or 'all' with method='froc', got 'never'"),
        ({"promise": "fitted", "confidence": 0.9}, "confidence must be left out with promise='fitted', .* got 0.9"),
        ({"promise": "all"}, "promise must be 'new', 'fitted' or 'population', got 'all'"),
        ({"where": (0, 0.2)}, "where must be None with constraint='equalized_odds': inside a window"),
        ({"epsilon": {"fpr": 0.1, "tpr": 0.2}, "method": "froc"}, "epsilon must be one number for method='froc'"),
        ({**ONE, "where": (0, 0.2), "draw": "all"}, r"draw must be 'few' or 'never' with where=\(0\.0, 0\.2\)"),
        ({**ONE, "epsilon": 0.1, "ratio": 0.8}, "give either epsilon or ratio, got epsilon 0.1 and ratio 0.8"),
        ({**ONE, "epsilon": {"fpr": 0.1, "tpr": 0.1}}, "epsilon must be one number for a constraint on one rate"),
        ({"epsilon": {"fpr": 0.1, "tpr": 0.1}, "ratio": 0.8}, "epsilon must be one number for a constraint on one"),
        ({**ONE, "norm": "inf"}, "norm must be 1 with constraint='equal_opportunity', which looks at one rate"),
        ({**ONE, "method": "froc"}, "method must be 'optimal' with constraint='equal_opportunity'"),
        ({**ONE, "queries": 20}, "queries must be None with constraint='equal_opportunity'"),
        ({"epsilon": {"tpr": 0.1}}, "epsilon must be a number, or have one tolerance for 'fpr' and one for 'tpr'"),
        ({"epsilon": {"fpr": 0.1, "tpr": 0.1, "x": 1}}, "epsilon must be a number, or have one tolerance for 'fpr'"),
        ({"epsilon": {"fpr": 0, "tpr": 0.1}}, "tolerances of 'fpr' and 'tpr' must be above 0 and at most 1"),
        ({"epsilon": {"fpr": 0.1, "tpr": 1.5}}, "tolerances of 'fpr' and 'tpr' must be above 0 and at most 1"),
        ({"epsilon": {"fpr": 0.1, "tpr": "x"}}, "tolerances of 'fpr' and 'tpr' must be above 0 and at most 1"),
        ({"epsilon": {"fpr": 0.1, "tpr": math.nan}}, "tolerances of 'fpr' and 'tpr' must be above 0 and at most 1"),
        *(
            ({**ONE, "ratio": ratio}, "ratio must be above 0 and at most 1")
            for ratio in (0, 1.1, -1, True, "x", math.nan)
        ),
        *(
            ({**ONE, "where": where}, "where must be two rising shares of people from 0 to 1")
            for where in ((0.2, 0.1), (0.2, 0.2), (0, 1.5), (-0.1, 1), (0,), 0.5, "0:0.2", (0, math.nan), {0, 1})
        ),
        ({**ONE, "draw": "always"}, "draw must be 'few', 'never' or 'all', got 'always'"),
        ({**ONE, "draw": None}, "draw must be 'few', 'never' or 'all', got None"),
    ],
)  # fmt: skip
def test_what_does_not_go_together(wrong: dict[str, Any], words: str) -> None:
    refuses(words, Options.checked, **wrong)


@pytest.mark.parametrize(
    ("how", "promise", "confidence"),
    [
        ({}, "new", None),
        ({"draw": "all"}, "new", None),
        ({"draw": "never"}, "new", None),
        ({"use_group": False}, "new", None),
        ({"method": "froc"}, "fitted", None),
        ({"queries": 20}, "fitted", None),
        ({"confidence": 0.9}, "population", 0.9),
        ({"confidence": 0.9, "queries": 20}, "population", 0.9),
        ({"promise": "population"}, "population", 0.95),
        ({"promise": "population", "confidence": 0.8}, "population", 0.8),
    ],
    ids=str,
)
def test_a_promise_left_open_is_what_the_rest_asks_for(
    how: dict[str, Any], promise: str, confidence: float | None
) -> None:
    """For new people where nothing else is asked; and "new" reads as if it was left open."""
    for given in (how, {"promise": "new"} | how):
        found = Options.checked(**given)
        assert (found.promise, found.confidence) == (promise, confidence)


def test_tolerances_become_one_epsilon() -> None:
    own = Options.checked(epsilon={"fpr": 0.1, "tpr": 0.04})
    assert (own.epsilon, own.tolerances, own.norm) == (0.04, (0.1, 0.04), "inf")
    assert own.fairness.length(np.array([0.1]), np.array([0.04])) == pytest.approx(0.04)
    ratio = Options.checked(**ONE, ratio=0.8)
    assert (ratio.epsilon, ratio.ratio) == (pytest.approx(0.2), 0.8)
    assert ratio.fairness == Ratio("tpr")
    assert Options.checked(**ONE, ratio=np.float32(0.5), where=[0, 0.2]).fairness == Ratio("tpr", (0.0, 0.2))
    for name, rate in ONE_RATE.items():
        found = Options.checked(constraint=name, where=(0, 0.2), epsilon=0.1)
        assert found.fairness == Difference(rate, (0.0, 0.2))
        assert found.one_rate
    assert not own.one_rate


# ---- one declaration ---------------------------------------------------------------------------------------------


def listed(doc: str | None) -> list[str]:
    """Names in the list of parameters of a docstring, in order."""
    section = re.search(r"Parameters\n *-+\n(.*?)\n\n", inspect.cleandoc(doc or "") + "\n\n", re.S)
    assert section is not None
    heads = [line.split(" : ")[0] for line in section[1].splitlines() if not line.startswith(" ")]
    return [name.strip() for head in heads for name in head.split(",")]


@pytest.mark.parametrize(
    ("function", "options"),
    [
        (FairROC, ESTIMATOR),
        (FairROCClassifier, CLASSIFIER),
        (audit, AUDIT),
        (frontier, FRONTIER),
        (choose_threshold, AIM),
        (FairModel.check, MONITOR),
        (count_files, FILES),
        (write_report, REPORT),
        (write_pack, PACK),
    ],
)
def test_signatures_have_the_declared_parameters_and_defaults(
    function: Callable[..., Any], options: Sequence[Option]
) -> None:
    found = inspect.signature(function).parameters
    assert {option.name: found[option.name].default for option in options} == {
        option.name: option.default for option in options
    }


def test_estimators_take_nothing_else_and_document_all() -> None:
    names = [option.name for option in ESTIMATOR]
    assert list(inspect.signature(FairROC).parameters) == listed(FairROC.__doc__) == names
    own = list(inspect.signature(FairROCClassifier).parameters)
    assert sorted(listed(FairROCClassifier.__doc__)) == sorted(own)
    extra = {"estimator", "cv", "ensemble", "response_method", "sensitive_features", "random_state", "n_jobs"}
    extra |= {"group_estimator", "control_features"}
    assert set(own) - extra == {option.name for option in CLASSIFIER}


def test_options_of_a_fit() -> None:
    fields = {field.name: field.default for field in dataclasses.fields(Options)}
    assert fields.pop("epsilon") is dataclasses.MISSING
    assert fields.pop("tolerances") is None  # epsilon with a number for each rate
    assert fields.pop("attribute_epsilons") is None  # epsilon with a number for each attribute
    assert fields == {option.name: option.default for option in FIT if option.name != "epsilon"}
    assert dataclasses.replace(Options.checked(), epsilon=1.0) == Options(epsilon=1.0)
    with pytest.raises(TypeError, match="unknown parameters epsilom; there are epsilon, "):
        Options.checked(epsilom=0.1)


def test_the_model_file_keeps_the_options_of_its_fit() -> None:
    kept = {field.name for field in dataclasses.fields(FairModel)}
    assert {option.name for option in FIT} - kept == {"min_class_rows"}  # it refuses data, and changes no fit


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("audit", (*AUDIT, *FILES)),
        ("fit", (*FIT, *FILES, KEY)),
        ("frontier", FRONTIER),
        ("report", (*REPORT, *PACK)),
        ("monitor", MONITOR),
        ("threshold", AIM),
        ("serve", (*SERVE, KEY)),
    ],
)
def test_flags_and_their_help(capsys: pytest.CaptureFixture[str], command: str, options: Sequence[Option]) -> None:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    shown = " ".join(capsys.readouterr().out.split())
    for option in options:
        if option.flag is not None:
            assert f"{option.flag} " in shown and option.help in shown.replace("- ", "-")


def test_defaults_pass_their_own_checks() -> None:
    for options in SECTIONS.values():
        checked(options, {})
        assert len({option.name for option in options}) == len(options)


def test_the_page_in_the_documents_is_this() -> None:
    assert (DOCS / "reference" / "options.md").read_text(encoding="utf-8") == reference()
