"""Turns the traces of a job into a workload: matches collectives and messages across ranks."""

from hocket.simulator.traces.assembly import workload_of

__all__ = ["workload_of"]
