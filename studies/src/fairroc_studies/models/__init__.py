"""Models that the studies train, by name."""
