"""One module for each question; each prints the table of a page in docs/."""
