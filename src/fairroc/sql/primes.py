"""The five constants of the XXH64 specification, as Python integers."""

__all__ = ["MASK", "P1", "P2", "P3", "P4", "P5"]

MASK = 2**64 - 1
P1, P2, P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
P4, P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
