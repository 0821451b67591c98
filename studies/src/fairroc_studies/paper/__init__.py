"""The FROC paper's experiments, run again, and a verdict on each of its claims."""
