"""The command `fairroc demo`: from a real data set to a model file, fair scores, a picture and a report, in one go."""

from __future__ import annotations

import argparse
import shlex
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairroc.cli.arguments import add_options
from fairroc.cli.output import progress_bar, put
from fairroc.errors import DataError, DatasetError
from fairroc.options import EPSILON, Options, check_epsilon

if TYPE_CHECKING:
    import pyarrow as pa

    from fairroc.fairmodel import FairModel
    from fairroc.fitting.fit import Fitted
    from fairroc.people.people import People

SALT = 20250101
"""A fixed public salt, so that the demo gives the same fair scores everywhere."""

NUMBERS = ("age", "education_num", "capital_gain", "capital_loss", "hours_per_week")
WORDS = ("workclass", "marital_status", "occupation", "relationship", "race", "native_country")
ROLES = "--score score --label label --group group"


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("demo", help="run the whole way on a real data set and leave the results in a folder")
    parser.add_argument(
        "-o", "--output", default="demo", metavar="FOLDER", help="folder for the results (default: demo)"
    )
    parser.add_argument(
        "--full", action="store_true", help="all 48,842 people of Adult instead of the sample that comes with fairroc"
    )
    add_options(parser, [EPSILON])
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run it."""
    put(run_demo(Path(arguments.output), epsilon=arguments.epsilon, full=arguments.full))
    return 0


def run_demo(folder: Path, *, epsilon: float = 0.05, full: bool = False) -> str:
    """Fit on one half of people that the classifier has not seen, apply to the other half; what came out, in words."""
    import numpy as np

    from fairroc.datasets import load_adult_sample
    from fairroc.fairmodel import FairModel
    from fairroc.fitting.fit import fit_quietly
    from fairroc.people.door import read_people
    from fairroc.report.data import Asked, Source, gather
    from fairroc.report.page import write_page
    from fairroc.tables.write import write_table

    check_epsilon(epsilon)
    adult = _load_full() if full else load_adult_sample()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"the demo needs a folder to write to; '{folder}' cannot be made: {error.strerror}.") from None
    with progress_bar("training a logistic regression"):
        people = adult_scores(adult)
    half = np.arange(people.num_rows) % 2 == 0
    known, held_out = people.filter(half), people.filter(~half)
    counted = read_people(known["score"], known["label"], sensitive_features=known["group"])
    with progress_bar(f"fitting the fair score on {known.num_rows:,} people"):
        fitted = fit_quietly(counted, Options.checked(epsilon=epsilon), salt=SALT)
        exact = fit_quietly(counted, Options.checked(epsilon=epsilon, promise="fitted"), salt=SALT)
    model = FairModel.of(fitted.model)
    model.save(folder / "model.json")
    fair = model.transform(held_out["score"], sensitive_features=held_out["group"], ids=held_out["id"])
    write_table(known, folder / "scores.csv")
    write_table(held_out.append_column("score_fair", [fair]), folder / "fair_scores.csv")
    with progress_bar("writing the report"):
        source = Source(f"{folder}/scores.csv", "score", "label", ("group",))
        title = "Adult, income above 50K by sex" + ("" if full else " (sample)")
        write_page(folder / "report.html", gather(counted, Asked.checked(epsilon=epsilon), title=title, source=source))
    seen = read_people(held_out["score"], held_out["label"], sensitive_features=held_out["group"])
    return "\n".join(
        [
            f"Adult census data{'' if full else ' (a sample that comes with fairroc)'}: who earns above 50K a year?",
            f"{adult.num_rows - people.num_rows:,} people trained a logistic regression that is not told their sex, "
            f"{known.num_rows:,} others fitted",
            f"the fair score (epsilon {epsilon:g}), and {held_out.num_rows:,} more were held out to see how it does.",
            "",
            *_at_worst(model, held_out, seen),
            "",
            *_gaps(fitted, exact, seen),
            "",
            *_files(folder, picture=_draw(fitted, folder / "roc.png")),
        ]
    )


def _load_full() -> pa.Table:
    from fairroc.datasets import load_adult

    try:
        return load_adult()
    except DatasetError as error:
        raise DatasetError(f"{error}\nWithout --full, 'fairroc demo' takes a sample that comes with fairroc.") from None


def _draw(fitted: Fitted, path: Path) -> bool:
    """Draw the picture, if matplotlib is installed; whether it is."""
    if find_spec("matplotlib") is None:
        return False
    from fairroc.plot import before_after
    from fairroc.tables.write import written_together

    with written_together() as begin, begin(path) as sink:
        before_after(fitted).savefig(sink, format="png", dpi=150, bbox_inches="tight")
    return True


def _at_worst(model: FairModel, held_out: pa.Table, seen: People) -> list[str]:
    """Whom the score selects at the threshold where it is most unfair, and whom the fair one selects there."""
    from fairroc.core.gap import threshold_gap
    from fairroc.text.words import table

    threshold = threshold_gap(seen.exact, model.fairness).threshold
    score, label = held_out["score"].to_numpy(), held_out["label"].to_numpy()
    group = held_out["group"].to_numpy()
    after = model.acceptance_rate(score, sensitive_features=group, threshold=threshold)

    def shares(one: int) -> list[str]:
        rows = [(label == one) & (group == name) for name in model.names]
        return [f"{100 * chance[row].mean():.0f}" for chance in (score >= threshold, after) for row in rows]

    names = [f"{name}, {when}" for when in ("before", "after") for name in model.names]
    rows = [["of 100 who earn above 50K", *shares(1)], ["of 100 who do not", *shares(0)]]
    head = f"Selected at threshold {threshold:.2f}, where the original score is most unfair to the people held out:"
    return [head, *table(["", *names], rows)]


def _gaps(fitted: Fitted, exact: Fitted, seen: People) -> list[str]:
    """Gaps and AUCs before and after, of the people fitted, expected of new people, and of those held out."""
    from fairroc.text.words import table

    ways = (("original score", fitted, False), ("fair score", fitted, True), ("with --promise fitted", exact, True))
    return [
        *table(
            ["Largest gap at any threshold", "fitted people", "new people (expected)", "held out", "AUC, held out"],
            [[name, *(f"{value:.3f}" for value in _figures(one, seen, after=after))] for name, one, after in ways],
        ),
        "Gap: how far apart women and men are in false positive rate plus true positive rate at one threshold.",
        f"Epsilon is for all new people; of {fitted.people.rows:,} of them expect a gap of "
        f"{fitted.solver.test_gap(fitted.solution):.3f}. --promise fitted keeps it for those fitted.",
    ]


def _figures(fitted: Fitted, seen: People, *, after: bool) -> tuple[float, float, float, float]:
    """Of the original score or of the fair one: gap fitted, expected of new people, and measured; AUC measured."""
    from fairroc.core.gap import pooled_auc, threshold_gap
    from fairroc.core.realised import performance
    from fairroc.model.model import expected_rocs

    constraint = fitted.model.fairness
    known = (fitted.performance.gap, fitted.expected.gap) if after else (fitted.before.gap, fitted.expected_before.gap)
    if after and not fitted.model.unchanged:
        people, realised = expected_rocs(fitted.model, seen)
        found = performance(realised, people, constraint)
        return *known, found.gap, found.auc
    raw = seen.exact
    return *known, threshold_gap(raw, constraint).value, pooled_auc(raw.curves, raw.weights0, raw.weights1)


def _files(folder: Path, *, picture: bool) -> list[str]:
    """What lies where, and what to do next."""
    roc, scores = ["  roc.png          ROC curves before and after"], shlex.quote(f"{folder}/scores.csv")
    return [
        f"In {folder}/:",
        "  report.html      open it in a browser: everything, with sliders for threshold and epsilon",
        "  model.json       the fitted model",
        "  fair_scores.csv  the people held out, with their fair scores",
        "  scores.csv       the people fitted",
        *(roc if picture else ["  (no roc.png: it needs matplotlib; pip install 'fairroc[plot]')"]),
        "Next:",
        f"  fairroc audit {scores} {ROLES}",
        f"  fairroc fit {scores} {ROLES} --epsilon 0.1 -o model.json",
    ]


def adult_scores(adult: pa.Table | None = None) -> pa.Table:
    """Scores of the test part of Adult by a logistic regression that does not see sex: id, score, label, group.

    Of all of it, or of a table that has some of its rows and columns.
    """
    import numpy as np
    import pyarrow as pa
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    from fairroc.datasets import load_adult

    table = load_adult() if adult is None else adult
    known = [name for name in WORDS if name in table.column_names]
    columns = (table[name].to_pylist() for name in (*NUMBERS, *known))
    filled = [["(missing)" if value is None else value for value in column] for column in columns]
    features = np.column_stack([np.array(column, dtype=object) for column in filled])
    split = np.array(table["split"].to_pylist())
    label = table["label"].to_numpy()
    numbers, words = list(range(len(NUMBERS))), list(range(len(NUMBERS), len(NUMBERS) + len(known)))
    encode = make_column_transformer(
        (StandardScaler(), numbers), (OneHotEncoder(handle_unknown="ignore", min_frequency=50), words)
    )
    classifier = make_pipeline(encode, LogisticRegression(max_iter=1000))
    classifier.fit(features[split == "train"], label[split == "train"])
    score = classifier.predict_proba(features[split == "test"])[:, 1]
    return pa.table(
        {
            "id": np.arange(len(score)),
            "score": score,
            "label": label[split == "test"],
            "group": table["sex"].filter(pa.array(split == "test")),
        }
    )
