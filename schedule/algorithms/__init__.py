"""The native algorithms: each a generator of an untimed schedule."""

from hocket.schedule.algorithms.registry import ALGORITHMS, Algorithm, build, build_all

__all__ = ["ALGORITHMS", "Algorithm", "build", "build_all"]
