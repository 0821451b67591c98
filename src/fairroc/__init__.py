"""One fair score from any trained classifier."""

from fairroc._version import __version__
