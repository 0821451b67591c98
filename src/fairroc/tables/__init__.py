"""Files of rows: read in batches, written whole or not at all."""
