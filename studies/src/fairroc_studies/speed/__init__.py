"""Seconds and memory: fairroc and its peers, back ends, engines, files larger than memory."""
