"""Displays of models that are not told the groups they compare: one family at a time, exact over the draw."""

from __future__ import annotations

import pytest

from fairroc import DataError
from fairroc.plot import FairROCDisplay, GapDisplay, ScoreDisplay, before_after
from family_cases import fitted, people

pytestmark = pytest.mark.filterwarnings("ignore::fairroc.errors.FairrocWarning")


@pytest.mark.parametrize(("kind", "family"), [("cells", None), ("each", "race"), ("strata", "group within b")])
def test_gaps_drawn_are_those_of_the_certificate(kind: str, family: str | None) -> None:
    post, here = fitted(kind), people(0)
    how = here.known(kind) | {"family": family}
    found = GapDisplay.from_estimator(post, here.scores, here.y, **how, bootstrap=0)
    titles = [one.title for one in post.model_.compared]
    told = post.certificate_.families[0 if family is None else titles.index(family)]
    assert found.after.largest == pytest.approx(told.gap, abs=1e-9)
    assert found.before.largest == pytest.approx(told.gap_before, abs=1e-9)
    assert found.epsilon == told.epsilon and found.after.low is None
    curves = FairROCDisplay.from_estimator(post, here.scores, here.y, **how, bootstrap=0)
    assert all(curve.band is None for curve in curves.after) and all(curve.band for curve in curves.before)
    assert [curve.group for curve in curves.after] == (["a", "b"] if family == "race" else ["f", "m"])
    shares = ScoreDisplay.from_estimator(post, here.scores, here.y, **how).after.shares
    assert shares.sum(axis=2) == pytest.approx(1.0)


def test_what_cannot_be_drawn_is_said() -> None:
    post, here = fitted("each"), people(0)
    with pytest.raises(DataError, match=r"family must name one of .*'sex', 'race', got None"):
        GapDisplay.from_estimator(post, here.scores, here.y, **here.known("each"))
    strange = here._replace(sex=here.sex.astype(object))
    strange.sex[0] = "x"
    with pytest.raises(DataError, match="the model compares the groups f, m, got x too"):
        GapDisplay.from_estimator(fitted("cells"), here.scores, here.y, **strange.known("cells"))
    with pytest.raises(DataError, match=r"take FairROCDisplay\.from_estimator"):
        before_after(post.fitted_)
