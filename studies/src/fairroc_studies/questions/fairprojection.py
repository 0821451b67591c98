"""Our FairProjection beside its authors' stored results, on the terminal.

    python -m fairroc_studies fairprojection

What is compared, and on whom, is told in `fairroc_studies.paper.stored`.
"""

from __future__ import annotations

from itertools import groupby

from fairroc_studies.paper.stored import check


def main() -> None:
    rows = check()
    for title, found in groupby(rows, lambda row: f"{row.data}, {row.model}, {row.method}"):
        at = list(found)
        print(f"{title}: accuracy / MEO at tolerance", *(row.tolerance for row in at))
        print("  stored", *(f"{row.stored_accuracy:.4f}/{row.stored_meo:.4f}" for row in at))
        print("  ours  ", *(f"{row.accuracy:.4f}/{row.meo:.4f}" for row in at))
    for data in dict.fromkeys(row.data for row in rows):
        print(f"largest difference on {data}: {max(row.off for row in rows if row.data == data):.4f}")
