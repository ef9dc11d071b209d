"""The traces of a whole job made of those of some of its ranks."""

from hocket.workload.completion.completing import Completion
from hocket.workload.completion.grid import RankGrid, grid_of_groups, grid_of_plan
from hocket.workload.completion.known import KnownRanks, read_known

__all__ = ["Completion", "KnownRanks", "RankGrid", "grid_of_groups", "grid_of_plan", "read_known"]
