"""The fitted model: plain data, its file, its lookup tables and its draws."""
