"""Hostile inputs by the million: each is made from a seed, judged, and made smaller if something is wrong.

make fuzz                                   # a few minutes, all targets
make fuzz FUZZ="core --seeds 0 1000000"     # the nightly form
"""
