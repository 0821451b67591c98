"""The mathematics: numpy in, frozen dataclasses out. No files, no randomness, no dataframes."""
