"""The page of a fit whose score is not told the groups that it compares, in words: the legal caution first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fairroc.fitting.certificate import Certificate
from fairroc.fitting.one_draw import OneDraw
from fairroc.fitting.outlook import Outlook
from fairroc.text.outlook import one_draw_words
from fairroc.text.words import flat

PROXY = (
    "This score is not told anybody's group. It is told probabilities of the groups instead, a proxy. The law may "
    "treat a proxy of a protected attribute as the attribute itself: ask a lawyer before you deploy it, and show them "
    "this page."
)
ALONE = (
    "This score is told nobody's group, and no proxy of it: the original score alone decides, on another scale. It was "
    "fitted with the groups of the people in this report; ask a lawyer whether that is allowed."
)
TOLD = (
    "This score needs everybody's group ({}) when a decision is made. The law may forbid that for a protected "
    "attribute: ask a lawyer before you deploy it. A fit without the group (use_group=False, --use-group never) does "
    "not need it."
)


def legal_caution(use_group: bool, columns: Sequence[str], attributes: Sequence[str]) -> str:
    """What must be asked before such a score is used."""
    if use_group:
        return TOLD.format(", ".join(map(flat, attributes)))
    return PROXY if columns else ALONE


def limits(certificate: Certificate, ahead: Outlook, drawn: OneDraw, columns: Sequence[str]) -> Iterator[str]:
    """What this page does not show."""
    yield (
        f"Among new people the largest gap is expected to be about {ahead.gap_estimate:.3f} (± "
        f"{ahead.gap_standard_error:.3f}), not {certificate.gap:.3f}: that is on average over the draw, on these rows."
    )
    yield from filter(None, [one_draw_words(drawn)])
    if any(not family.compared for family in certificate.families):
        yield "Every attribute is kept close for itself. Their intersections are not, and are shown for information."
    if columns:
        yield (
            "The promise holds for the true groups of the fitted people. It drifts with the probabilities: watch them "
            "with fairroc monitor, and measure the gap again where groups and labels are known."
        )
    yield (
        "There is no slider here, and no frontier over epsilon: each epsilon is another linear program. Fit again with "
        "another one to compare."
    )
    yield "Fair here is about the rates compared, nothing else. None of this is legal advice."
