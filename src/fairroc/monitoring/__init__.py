"""Check new people against a fitted model."""
