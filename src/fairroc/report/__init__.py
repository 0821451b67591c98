"""A report of a score as one HTML file, and a folder for regulators: data first, then templates."""

from fairroc.report.pack import write_pack
from fairroc.report.page import write_report

__all__ = ["write_pack", "write_report"]
