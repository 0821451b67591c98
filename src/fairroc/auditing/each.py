"""Audits of several attributes, each for itself, or within strata: one for each, and one of their intersections."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from fairroc.auditing.audit import Settings, audit_quietly
from fairroc.auditing.findings import Audit
from fairroc.errors import warn_all
from fairroc.people.door import people_of_family
from fairroc.people.spread import Family, SpreadRows
from fairroc.summary import Titled


@dataclass(frozen=True, slots=True, eq=False)
class FamilyAudit(Titled):
    """The audit of one attribute, or of one attribute inside a stratum.

    Groups that are not ``compared`` are the intersections of attributes that are looked at each for itself: for
    information, without a verdict.
    """

    attribute: str
    stratum: str | None
    compared: bool
    audit: Audit


@dataclass(frozen=True, slots=True, eq=False)
class Audits:
    """Audits of the same rows by several attributes and strata."""

    rows: int
    families: tuple[FamilyAudit, ...]

    @property
    def compared(self) -> list[FamilyAudit]:
        """Those that count."""
        return [family for family in self.families if family.compared]

    @property
    def gap(self) -> float:
        """The largest gap of those that count."""
        return max(family.audit.gap for family in self.compared)

    @property
    def fair(self) -> bool | None:
        """Whether every gap is within its epsilon; None where none was given."""
        found = [family.audit.fair for family in self.compared]
        return None if None in found else all(found)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON: audits by attribute, with strata by attribute and stratum."""
        attributes: dict[str, Any] = {}
        for family in self.compared:
            if family.stratum is None:
                attributes[family.attribute] = family.audit.to_dict()
            else:
                attributes.setdefault(family.attribute, {})[family.stratum] = family.audit.to_dict()
        loose = [family.audit.to_dict() for family in self.families if not family.compared]
        whole = {"rows": self.rows, "gap": self.gap, "fair": self.fair, "attributes": attributes}
        return whole | {"intersections": loose[0] if loose else None}


def audit_each(rows: SpreadRows, settings: Callable[[Family], Settings]) -> Audits:
    """Audit every family of rows, with its own settings, and warn of small groups."""
    found, notes = [], []
    for family in rows.families:
        if len(family.groups) < 2:  # intersections of which all but one lack a label
            continue
        people = people_of_family(family, rows.scores, rows.labels, rows.weights)
        audit = audit_quietly(people, settings(family))
        audit = audit if family.compared else replace(audit, fair=None)
        found.append(FamilyAudit(family.name, family.stratum, family.compared, audit))
        notes += people.small_groups() if family.compared else []
    warn_all(notes)
    return Audits(rows.rows, tuple(found))
