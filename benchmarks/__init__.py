"""Benchmarks: ``python -m benchmarks`` writes docs/benchmarks.md; the scripts beside it answer one question each."""
