"""One module for each library that is measured; each runs inside that library's own environment."""
