"""Metrics by name, with unit, help and samples: what OpenMetrics and OTLP have in common."""

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["BUCKETS", "Family", "Histogram", "Labels"]

# Names and values of labels, in order.
Labels = tuple[tuple[str, str], ...]

# Bounds of the buckets of times, in seconds; those above the last count too.
BUCKETS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)


@dataclass
class Histogram:
    """How many times, in seconds, were at most each of BUCKETS and not of the one before; the last counts the rest."""

    counts: list[int]
    sum: float = 0.0

    @classmethod
    def empty(cls) -> "Histogram":
        """Nothing yet."""
        return cls([0] * (len(BUCKETS) + 1))

    def add(self, seconds: float) -> None:
        """One more."""
        self.counts[next((n for n, bound in enumerate(BUCKETS) if seconds <= bound), len(BUCKETS))] += 1
        self.sum += seconds


@dataclass(frozen=True)
class Family:
    """A metric: `type` is counter, gauge or histogram. `unit` is a base unit of OpenMetrics (seconds, bytes,
    bytes_per_second) or "" for a number; the name ends with it."""

    name: str
    type: str
    unit: str
    help: str
    samples: Sequence[tuple[Labels, float | Histogram]]
