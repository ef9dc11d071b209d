"""Turns the traces of a job into a workload: matches collectives and messages across ranks, prices the rest."""

from hocket.simulator.traces.assembly import workload_of
from hocket.simulator.traces.durations import Hardware

__all__ = ["Hardware", "workload_of"]
