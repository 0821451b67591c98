"""Other libraries and methods, each run in an environment of its own."""
