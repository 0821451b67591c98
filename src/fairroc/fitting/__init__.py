"""From people and options to a model."""
