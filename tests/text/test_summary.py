"""What a prompt and a notebook show of every result: short, aligned, escaped."""

from __future__ import annotations

import pickle
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import fairroc
from fairroc import GroupCodes, ScoreCounts, choose_threshold, verify
from fairroc.froc import run_froc
from fairroc.people.door import read_people
from fairroc.report.data import gather
from fairroc.summary import MOST_ROWS, Part, Result, Summary, as_html, as_text, brief, flat, worded
from fitted_people import FairROC, FairROCClassifier, fitted_report, frontier

pytestmark = pytest.mark.filterwarnings("ignore::fairroc.errors.FairrocWarning")

GROUPS = 40
ODD = "<script>alert('x')</script> & a\nsecond line of a name that is far too long for any table"


@pytest.fixture(scope="module")
def shown() -> dict[str, object]:
    rng = np.random.default_rng(3)
    group = np.array([ODD, *(f"g{i:02d}" for i in range(1, GROUPS))])[np.arange(GROUPS * 40) % GROUPS]
    y = rng.integers(0, 2, len(group))
    score = y + rng.normal(size=len(group)) * np.where(group == ODD, 3.0, 1.0)
    post = FairROC(epsilon=0.3, draw="all", salt=1).fit(score, y, sensitive_features=group)
    audit = fairroc.audit(score, y, sensitive_features=group, epsilon=0.1, threshold=0.5, bootstrap=0)
    two = np.isin(group, ["g01", "g02"])
    some = {"sensitive_features": group[two]}
    asked = fitted_report(epsilon=0.3, draw="all", bootstrap=0)
    return {
        "Audit": audit,
        "Certificate": post.certificate_,
        "Choice": choose_threshold(post, score, y, sensitive_features=group, recall=0.5),
        "Drift": post.model_.check(score + 3 * (group == "g05"), y=y, sensitive_features=group, bootstrap=0),
        "Explanation": post.model_.explain(0.1, ODD, threshold=0.5, id=7),
        "FairModel": post.model_,
        "Frontier": frontier(score[two], y[two], draw="all", bound=False, **some),
        "GroupCodes": GroupCodes(np.arange(99), [*"abc"]),
        "OneDraw": post.one_draw_,
        "Outlook": post.outlook_,
        "ScoreMap": FairROC(2.0).fit(score[two], y[two], **some).model_.map("g01"),
        "ScoreCounts": ScoreCounts.from_rows(score, y, sensitive_features=group, bits=13),
        "Verification": verify(post.model_, score[two], y[two], **some),
        "report": gather(read_people(score[two], y[two], **some), asked),
        "froc": run_froc(score[two], y[two], epsilon=0.1, **some),
        "decision": audit.decision,
        "group": audit.groups[0],
        "limit": post.outlook_.limited_by,
    }


TAGS = {"div", "table", "caption", "thead", "tbody", "tr", "th", "td", "p"}


class Tags(HTMLParser):
    """Open tags, and all that were seen."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag, attrs) -> None:
        self.open.append(tag)
        self.seen.append(tag)
        assert not {name for name, _ in attrs} - {"style", "scope", "aria-label"}

    def handle_endtag(self, tag) -> None:
        assert self.open.pop() == tag


def test_every_public_result_is_among_them(shown) -> None:
    results = {
        name for name in fairroc.__all__ if isinstance(t := getattr(fairroc, name), type) and issubclass(t, Result)
    }
    assert results <= set(shown)
    assert len(results) == 12


def test_results_are_short_tables(shown) -> None:
    for name, thing in shown.items():
        for text in {repr(thing), str(thing)}:
            lines = text.split("\n")
            assert (len(lines) <= MOST_ROWS + 14 and max(map(len, lines)) <= 200) or isinstance(thing, Part), name
            assert len(text) < 2500 and "\nsecond line" not in text, name
            numbers = re.findall(r"\d+\.\d+", text.split(" more groups")[0])
            digits = max((len(number.replace(".", "").lstrip("0")) for number in numbers), default=0)
            assert digits <= 5 or name == "Verification", (name, text)


def test_html_is_escaped_and_whole(shown) -> None:
    for name, thing in shown.items():
        page = thing._repr_html_()
        tags = Tags()
        tags.feed(page)
        assert not tags.open and set(tags.seen) <= {
            *["div", "table", "caption", "thead", "tbody", "tr", "th", "td", "p"]
        }, name
        assert "script>" not in page.replace("&lt;script&gt;", "") and "color:#" not in page
        assert len(page) < 12_000, name


def test_tables_are_aligned_and_name_who_is_left_out(shown) -> None:
    text = repr(shown["Certificate"])
    assert f"and {GROUPS - MOST_ROWS} more groups" in text
    table = text.split("\n\n")[1].split("\n")[: MOST_ROWS + 1]
    assert len({len(line) for line in table}) == 1
    assert repr(shown["Frontier"]).count("\n") < 20 and "more epsilons between these" in repr(shown["Frontier"])
    moved = repr(shown["Drift"]).split("\n\n")[1].split("\n")[1]
    assert moved.split()[:2] == ["g05", "moved"]


def test_parts_stand_on_one_line_in_tuples_and_as_a_table_alone(shown) -> None:
    assert repr((shown["limit"],)).startswith("(Limit(group=")
    assert str(shown["limit"]).splitlines()[0] == "Limit"
    assert repr(shown["decision"]).endswith("groups=40 values)")


def test_names_do_not_turn_the_line_they_stand_on() -> None:
    assert flat("a\u202eb\u2066c\n\x00d") == "a b c d"
    assert flat("שלום 👩\u200d🔬") == "שלום 👩\u200d🔬"


def test_words_of_values() -> None:
    assert worded(np.float64(0.123456)) == "0.1235" and worded(np.int64(12345)) == "12345" and worded(True) == "True"
    assert worded(np.zeros((2, 3))) == "array of shape (2, 3)" and worded(1e-9) == "1e-09" and worded(0.0) == "0"
    assert worded({"a": 1}) == "1 values" and worded(("a", 2.0)) == "('a', 2)" and worded(object())[:8] == "<object "
    assert (
        worded(Summary("x", rows=[["a"]] * 9)) == "Summary"
        and brief(Summary("x")) == "Summary(title='x', noun='groups')"
    )
    assert as_text(Summary("only a title")) == "only a title"
    assert as_html(Summary("t", notes=["a < b"])).endswith("<p>a &lt; b</p></div>")


def test_estimators_show_what_was_fitted_below_their_parameters() -> None:
    rng = np.random.default_rng(0)
    sex, y = np.repeat(["<f>", "m"], 100), rng.integers(0, 2, 200)
    score = y + rng.normal(size=200)
    post = FairROC(epsilon=0.3, draw="all")
    assert str(post) == repr(post)
    post.fit(score, y, sensitive_features=sex)
    assert repr(post) == "FairROC(draw='all', epsilon=0.3, promise='fitted')"
    assert str(post).splitlines()[1] == "Fitted to 200 rows, 2 groups" and "AUC before" not in str(post)
    bundle = post._repr_mimebundle_()
    assert bundle["text/plain"] == str(post) and "AUC before" not in str(post), "looking computes nothing"
    assert all(
        "&lt;f&gt;" in page and "Fitted to 200 rows" in page for page in (bundle["text/html"], post._repr_html_())
    )
    again = pickle.loads(pickle.dumps(post))
    assert str(again) == str(post) and "Fitted to" in again._repr_html_()
    assert post.certificate_.auc and "AUC before" in str(post)
    clf = FairROCClassifier(LogisticRegression(), epsilon=0.3, draw="all", cv=2)
    assert str(clf) == repr(clf)
    clf.fit(score[:, None], y, sensitive_features=sex)
    assert "Fitted to 200 rows" in str(clf)
    assert "Fitted to" not in repr(make_pipeline(clf))


def test_audits_without_labels_and_of_ratios() -> None:
    rng = np.random.default_rng(0)
    sex, score = np.repeat(["f", "m"], 200), rng.normal(size=400)
    plain = fairroc.audit(score, None, sensitive_features=sex, constraint="demographic_parity", bootstrap=0)
    assert "AUC" not in repr(plain) and "positives" not in repr(plain)
    y = rng.integers(0, 2, 400)
    ratio = fairroc.audit(score, y, sensitive_features=sex, constraint="equal_opportunity", ratio=0.8, bootstrap=0)
    assert "smallest ratio" in repr(ratio) and re.search(r"\n  at least 0.8 +(yes|no)\n", repr(ratio))
    assert "where 5% or more are selected" in repr(ratio)  # of which alone the interval speaks
    assert "in the population" not in repr(replace(ratio, gap_interval=None, auc_interval=None))


def test_a_window_is_told_with_the_gap_that_was_measured_in_it() -> None:
    rng = np.random.default_rng(0)
    sex, y = np.repeat(["f", "m"], 300), rng.integers(0, 2, 600)
    people = {"sensitive_features": sex}
    score = y + rng.normal(size=600) + (sex == "m")
    how = {"constraint": "equal_opportunity", "epsilon": 0.05, "where": (0.05, 0.3)}
    post = FairROC(**how).fit(score, y, **people)
    outside = choose_threshold(post, score, y, recall=0.99, **people)
    inside = choose_threshold(post, score, y, selection_rate=0.2, **people)
    measured = fairroc.audit(score, y, bootstrap=0, **how, **people)
    for found in (post.certificate_, outside, inside, measured):
        assert "where 5% to 30% of people are selected" in repr(found)
    assert "not measured at this threshold" in repr(outside) and f"{inside.gap:.4f} (difference" in repr(inside)


def test_a_certificate_says_for_which_scores_its_bound_is() -> None:
    rng = np.random.default_rng(1)
    sex, y = np.repeat(["f", "m"], 300), rng.integers(0, 2, 600)
    post = FairROC(0.3, draw="all").fit(y + rng.normal(size=600), y, sensitive_features=sex)
    assert "for any score with a gap of 0.3 or less on these rows" in repr(post.certificate_)
    kept = replace(post.certificate_, confidence=0.95, allowed=0.2, promise="population")
    assert "for any score with a gap of 0.2 or less on these rows" in repr(kept)
