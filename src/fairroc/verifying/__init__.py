"""An independent check of a model: what its file and its certificate state, derived anew in exact rationals.

Small and slow on purpose, and apart: nothing else of this package is imported, and nothing but the standard library.
Every double of the files is taken for the rational number that it is. `files` reads them and says what must be close,
`law` derives every group's rates at all thresholds from the model file and the people's counts, `check` compares.
"""
