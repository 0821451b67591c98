"""What a model that is told something else than the groups does to groups: of one attribute each, or inside strata.

The model treats segments; here the groups are known besides, to be measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairroc.core.chain import FloatArray
from fairroc.core.mixture import Mixture
from fairroc.core.realised import RealisedRoc, all_points
from fairroc.errors import DataError
from fairroc.model.model import Compared, ModelData, people_of_steps, steps_of
from fairroc.options import Missing
from fairroc.people.door import read_people
from fairroc.people.factorise import group_codes
from fairroc.people.people import People
from fairroc.people.rows import ScoreColumns, read_columns, same_length
from fairroc.people.small import MERGED
from fairroc.people.spread import Family, SpreadRows, named_features


def families_of(
    sensitive_features: Any,
    control_features: Any = None,
    *,
    each: bool = False,
    missing: Missing = "error",
    compared: Sequence[Compared] = (),
) -> tuple[Family, ...]:
    """Whom to compare: the groups of every attribute (``each``) or their intersections, inside every stratum.

    Groups that a fit made one are one here too: ``compared`` tells of it.
    """
    attributes = named_features(sensitive_features, "sensitive_features")
    controls = {} if control_features is None else named_features(control_features, "control_features")
    same_length(
        **{f"sensitive_features[{name!r}]": column for name, column in attributes.items()},
        **{f"control_features[{name!r}]": column for name, column in controls.items()},
    )
    crossed = [attributes] if not each else [{name: column} for name, column in attributes.items()]
    strata: list[tuple[str | None, Any]] = [(None, slice(None))]
    if controls:
        inside, names = group_codes(controls, missing)
        strata = [(name, np.flatnonzero(inside == code)) for code, name in enumerate(names)]
    merged = {(one.attribute, one.stratum): {group.name for group in one.groups} for one in compared}
    found = []
    for columns in crossed:
        codes, groups = group_codes(columns, missing)
        name = " & ".join(columns)
        for stratum, rows in strata:
            known = merged.get((name, stratum), set())
            there = np.unique(codes[rows]).tolist()
            called = {code: MERGED if MERGED in known and groups[code] not in known else groups[code] for code in there}
            kept = tuple(sorted(set(called.values())))
            table = np.full(len(groups), -1, dtype=np.intp)
            table[there] = [kept.index(called[code]) for code in there]
            own = np.full(len(codes), -1, dtype=np.intp)
            own[rows] = table[codes[rows]]
            found.append(Family(name, stratum, kept, own))
    return tuple(found)


def people_in(
    family: Family, scores: NDArray[Any], labels: NDArray[Any], weights: NDArray[Any] | None, *, in_order: bool = False
) -> People:
    """The people of one family by their groups, with checked columns."""
    mine = np.flatnonzero(family.codes >= 0)
    try:
        return read_people(
            scores[mine],
            labels[mine],
            sensitive_features=np.array(family.groups)[family.codes[mine]],
            sample_weight=None if weights is None else weights[mine],
            in_order=in_order,
        )
    except DataError as error:
        if family.stratum is None:
            raise
        raise DataError(f"within {family.stratum!r}: {error} Coarser control features have more people each.") from None


@dataclass(frozen=True, slots=True, eq=False)
class Treated:
    """People as a model treats them, and whom to compare among them.

    ``columns`` are their scores and segments as the model reads them, in the order of the rows.
    """

    model: ModelData
    families: tuple[Family, ...]
    columns: ScoreColumns
    labels: NDArray[np.bool_]
    weights: FloatArray | None

    def before(self) -> tuple[People, ...]:
        """Every family under the original score."""
        return tuple(people_in(family, self.columns.scores, self.labels, self.weights) for family in self.families)

    def mixture(self) -> tuple[Mixture, tuple[Any, ...]]:
        """These people by segments, and the kernel of each; the populations are all families' groups, and everybody."""
        there, codes = np.unique(self.columns.groups, return_inverse=True)
        kernels = tuple(self.model.kernels[int(code)] for code in there)
        lows = np.array([float(kernel.thresholds[-1]) for kernel in kernels])
        nobody = np.zeros(len(codes), dtype=np.intp)
        rows = SpreadRows(
            np.maximum(self.columns.scores, lows[codes]),  # scores below all fitted ones are treated like the lowest
            self.labels,
            self.weights,
            self.families,
            codes.astype(np.intp),
            tuple(self.model.names[int(code)] for code in there),
            nobody,
            ("everybody",),
        )
        return rows.mixture(), kernels

    def realised(self) -> tuple[RealisedRoc, ...]:
        """What the model does to every group, and to everybody (the last)."""
        mixture, kernels = self.mixture()
        return tuple(mixture.realised(kernels, p) for p in range(len(mixture.priors)))

    def expected(self) -> tuple[People, ...]:
        """The fair score of every family in expectation over the draw, as people with weights: see
        `fairroc.model.model.expected_people`."""
        before = self.before()  # raises where a group lacks a label
        if self.model.unchanged:
            return before
        every, kept, begin = self.realised(), [], 0
        for people in before:
            own = every[begin : begin + len(people.names)]
            begin += len(people.names)
            (fpr, tpr), totals = all_points(own), np.array([sample.totals for sample in people.samples])
            kept.append(people_of_steps(people.names, steps_of(fpr) * totals[:, 0], steps_of(tpr) * totals[:, 1]))
        return tuple(kept)


def treated_rows(
    model: ModelData,
    scores: Any,
    y: Any,
    *,
    sensitive_features: Any,
    control_features: Any = None,
    group_probabilities: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
    on_unknown_group: str | None = None,
    each: bool | None = None,
) -> Treated:
    """Check people whose groups are known; with ``each`` None they are compared as the model's fit compared them."""
    families = families_of(
        sensitive_features,
        control_features,
        each=model.combine == "each" if each is None else each,
        missing=model.missing,
        compared=model.compared,
    )
    columns = read_columns(
        scores,
        y,
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
        pos_label=pos_label,
        missing=model.missing,
    )
    told = model.told(
        sensitive_features if model.use_group else None,
        group_probabilities,
        control_features if model.controls else None,
        len(columns.scores),
    )
    seen = model.read(columns.scores, told, on_unknown_group, allow_out_of_range=True)
    return Treated(model, families, replace(seen, scores=seen.scores + 0.0), columns.labels, columns.weights)
