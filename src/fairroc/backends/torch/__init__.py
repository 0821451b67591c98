"""The transform on torch tensors."""
