"""Where a job that nobody ran is to run: what computes there prices it, and its ranks are the job's."""

from __future__ import annotations

from dataclasses import dataclass

from hocket.api.generate.request import (
    CollectiveGeneration,
    InferenceGeneration,
    LlmGeneration,
    NetworkGeneration,
)
from hocket.base.errors import RequestError
from hocket.simulator.installation import installation
from hocket.topology import load
from hocket.workload.accelerators import Accelerator, Precision, parse_accelerator

__all__ = ["Pricing", "checked", "pricing", "ranks_of", "ranks_there"]

_DEFAULT = "h100"


@dataclass(frozen=True)
class Pricing:
    """The accelerator by which computation is priced, and `why` that one."""

    accelerator: Accelerator
    why: str

    def said(self, precision: Precision) -> str:
        return f"priced as {self.accelerator.spec} at {precision}, {self.why}"


def pricing(request: NetworkGeneration | LlmGeneration | InferenceGeneration) -> Pricing:
    """What `--accelerator` says, else what the topology has, else H100.

    Raises RequestError where the topology does not say what computes in it.
    """
    if request.accelerator is not None:
        return Pricing(parse_accelerator(request.accelerator), "as --accelerator says")
    if request.topology is None:
        return Pricing(parse_accelerator(_DEFAULT), "the default: --topology or --accelerator says another")
    found = installation(request.topology)
    if found.accelerator is None:
        raise RequestError(f"{request.topology} does not say what computes there: name it with --accelerator")
    return Pricing(found.accelerator, f"as {request.topology} has it")


def ranks_of(request: CollectiveGeneration | NetworkGeneration) -> int:
    """As many as asked for, else all of the topology's. Raises RequestError where that has too few or none is told."""
    if request.topology is None:
        if request.ranks is None:
            raise RequestError("--ranks is missing: how many ranks has the job? --topology says it too")
        return request.ranks
    there = ranks_there(request.topology)
    if request.ranks is not None:
        return checked(request.ranks, there, request.topology)
    if there < 2:
        raise RequestError(f"{request.topology} has one rank, and a job needs 2")
    return there


def ranks_there(topology: str) -> int:
    return load(topology).num_ranks


def checked(ranks: int, there: int, topology: str) -> int:
    """The ranks of a job. Raises RequestError where the topology has not as many."""
    if ranks > there:
        raise RequestError(f"the job has {ranks} ranks, and {topology} only {there}")
    return ranks
