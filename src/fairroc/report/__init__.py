"""A report of a score as one HTML file: data first, then templates."""

from fairroc.report.page import write_report

__all__ = ["write_report"]
