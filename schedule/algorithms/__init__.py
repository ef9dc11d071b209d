"""The native algorithms: each a generator of an untimed schedule."""

from hocket.schedule.algorithms.multi_ring import along_rings
from hocket.schedule.algorithms.pattern import Pattern
from hocket.schedule.algorithms.registry import ALGORITHMS, Algorithm, build, build_all, pattern, patterns

__all__ = ["ALGORITHMS", "Algorithm", "Pattern", "along_rings", "build", "build_all", "pattern", "patterns"]
