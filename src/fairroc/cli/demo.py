"""The command `fairroc demo`: from a real data set to a model file, fair scores, a picture and a report, in one go."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairroc.cli.arguments import add_options
from fairroc.cli.output import put, say
from fairroc.errors import DataError, DatasetError
from fairroc.options import EPSILON, Options, check_epsilon

if TYPE_CHECKING:
    from fairroc.fitting.fit import Fitted
    from fairroc.people.people import People

SALT = 20250101
"""A fixed public salt, so that the demo gives the same fair scores everywhere."""

NUMBERS = ("age", "education_num", "capital_gain", "capital_loss", "hours_per_week")
WORDS = ("workclass", "marital_status", "occupation", "relationship", "race", "native_country")


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("demo", help="run the whole way on a real data set and leave the results in a folder")
    parser.add_argument(
        "-o", "--output", default="demo", metavar="FOLDER", help="folder for the results (default: demo)"
    )
    add_options(parser, [EPSILON])
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run it."""
    put(run_demo(Path(arguments.output), epsilon=arguments.epsilon, say=say))
    return 0


def run_demo(folder: Path, *, epsilon: float = 0.05, say: Callable[[str], None]) -> str:
    """Fit on one half of people that the classifier has not seen, apply to the other half; what came out, in words."""
    import numpy as np

    from fairroc.auditing.audit import audit
    from fairroc.fairmodel import FairModel
    from fairroc.fitting.certificate import certify
    from fairroc.fitting.fit import fit, fit_quietly
    from fairroc.fitting.one_draw import one_draw
    from fairroc.fitting.outlook import outlook
    from fairroc.people.door import read_people
    from fairroc.plot import before_after
    from fairroc.plot.palette import require_matplotlib
    from fairroc.report.data import Asked, Source, gather
    from fairroc.report.page import require_report, write_page
    from fairroc.tables.write import write_table, written_together
    from fairroc.text.certificate import fit_text
    from fairroc.text.words import table

    check_epsilon(epsilon)
    require_matplotlib()
    require_report()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"the demo needs a folder to write to; '{folder}' cannot be made: {error.strerror}.") from None
    try:
        say("training a logistic regression on Adult (income above 50K) ...")
        title, people = "Adult, income above 50K by sex", adult_scores()
    except DatasetError as error:
        say(f"{error}\nAdult is not at hand: a made-up lending example takes its place.")
        title, people = "made-up lending example", lending_scores()
    half = np.arange(people.num_rows) % 2 == 0
    known, new = people.filter(half), people.filter(~half)
    counted = read_people(known["score"], known["label"], sensitive_features=known["group"])
    say(f"fitting the fair score on {known.num_rows:,} people ...")
    fitted = fit(counted, Options.checked(epsilon=epsilon), salt=SALT)
    for_new = fit_quietly(counted, Options.checked(epsilon=epsilon, promise="new"), salt=SALT)
    model = FairModel.of(fitted.model)
    model.save(folder / "model.json")
    fair = model.transform(new["score"], sensitive_features=new["group"], ids=new["id"])
    write_table(known, folder / "scores.csv")
    write_table(new.append_column("score_fair", [fair]), folder / "fair_scores.csv")
    with written_together() as begin, begin(folder / "roc.png") as sink:
        before_after(fitted).savefig(sink, format="png", dpi=150, bbox_inches="tight")
    say("writing a report ...")
    asked = Asked.checked(epsilon=epsilon)
    source = Source(f"{folder}/scores.csv", "score", "label", ("group",))
    write_page(folder / "report.html", gather(counted, asked, title=title, source=source))
    unseen = read_people(new["score"], new["label"], sensitive_features=new["group"])
    drawn = audit(fair, new["label"], sensitive_features=new["group"])
    ahead = outlook(fitted)
    return "\n".join(
        [
            title,
            "",
            fit_text(certify(fitted), ahead, one_draw(fitted)),
            "",
            f"Was the estimate right? Gap and AUC of {new.num_rows:,} people that no fit has seen, in expectation",
            "over the draw; they are a sample too: their own chance makes the gap larger than that of all new people.",
            *table(
                ["", "new people, expected", "new people, measured", "fitted people"],
                [_in_sight("original score", fitted, unseen, after=False)]
                + [_in_sight(f'promise="{name}"', one, unseen) for name, one in (("fitted", fitted), ("new", for_new))],
            ),
            f"Drawn once, as in {folder}/fair_scores.csv (fitted): gap {drawn.gap:.3f}, AUC {drawn.auc:.3f}.",
            "",
            f"Open {folder}/report.html in a browser: everything above, with sliders for threshold and epsilon.",
            f"In {folder}/ also: model.json, fair_scores.csv, roc.png, and scores.csv, which you can try yourself:",
            f"  fairroc audit {folder}/scores.csv --score score --label label --group group",
            f"  fairroc fit {folder}/scores.csv --score score --label label --group group --epsilon 0.1 -o model.json",
        ]
    )


def _in_sight(name: str, fitted: Fitted, unseen: People, *, after: bool = True) -> list[str]:
    """Gap and AUC, of the original score or of the fair one: expected of new people, measured on some, and fitted."""
    from fairroc.core.gap import pooled_auc, threshold_gap
    from fairroc.core.realised import performance
    from fairroc.model.model import expected_rocs

    constraint, found = fitted.model.fairness, fitted.performance if after else fitted.before
    ahead = fitted.expected if after else fitted.expected_before
    auc = fitted.before.auc + ahead.auc - fitted.expected_before.auc
    if after and not fitted.model.unchanged:
        people, realised = expected_rocs(fitted.model, unseen)
        seen = performance(realised, people, constraint)
        measured = seen.gap, seen.auc
    else:
        raw = unseen.exact
        measured = threshold_gap(raw, constraint).value, pooled_auc(raw.curves, raw.weights0, raw.weights1)
    return [name, *(f"{gap:.3f}, {auc:.3f}" for gap, auc in ((ahead.gap, auc), measured, (found.gap, found.auc)))]


def adult_scores() -> Any:
    """Scores of the test part of Adult by a logistic regression that does not see sex: id, score, label, group."""
    import numpy as np
    import pyarrow as pa
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    from fairroc.datasets import load_adult

    table = load_adult()
    columns = (table[name].to_pylist() for name in (*NUMBERS, *WORDS))
    filled = [["(missing)" if value is None else value for value in column] for column in columns]
    features = np.column_stack([np.array(column, dtype=object) for column in filled])
    split = np.array(table["split"].to_pylist())
    label = table["label"].to_numpy()
    numbers, words = list(range(len(NUMBERS))), list(range(len(NUMBERS), len(NUMBERS) + len(WORDS)))
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


def lending_scores(rows: int = 16000, seed: int = 0) -> Any:
    """A seeded, made-up lending example: credit scores that tell good from bad payers better in one group."""
    import numpy as np
    import pyarrow as pa

    rng = np.random.default_rng(seed)
    first = rng.random(rows) < 0.35
    label = rng.random(rows) < np.where(first, 0.3, 0.5)
    signal = np.where(first, 0.9, 1.7) * label + np.where(first, -0.4, 0.0) + rng.normal(size=rows)
    return pa.table(
        {
            "id": np.arange(rows),
            "score": np.round(600 + 60 * signal).astype(int),
            "label": label.astype(np.int8),
            "group": np.where(first, "A", "B"),
        }
    )
