"""Audit a score."""
