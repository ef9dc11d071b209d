"""The native algorithms: each a generator of an untimed schedule."""

from hocket.schedule.algorithms.pattern import Pattern
from hocket.schedule.algorithms.registry import ALGORITHMS, Algorithm, build, build_all, pattern, patterns

__all__ = ["ALGORITHMS", "Algorithm", "Pattern", "build", "build_all", "pattern", "patterns"]
