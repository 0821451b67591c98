"""The door: rows, counts, files, frames and tensors become checked people."""
