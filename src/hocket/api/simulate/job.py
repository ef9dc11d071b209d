"""Simulates the traces of a job, as a request says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from hocket.api.generate.job_file import is_job_file
from hocket.api.generate.llm import traces_of_job_file
from hocket.api.simulate.library import StockMachine, asks_for_library, asks_of_links, stock_machine
from hocket.api.simulate.options import algorithms_of, fraction
from hocket.api.simulate.question import Question
from hocket.base.errors import RequestError
from hocket.chakra import TraceSet, read_traces
from hocket.schedule import NAMED_KINDS, Schedule
from hocket.simulator import Prediction, parse_placement, parse_remote_memory, simulate_traces
from hocket.simulator.algorithm_choice import AUTO, DEFAULT_ALGORITHMS, LIBRARY
from hocket.simulator.installation import installation
from hocket.topology import Topology
from hocket.workload.accelerators import Accelerator, parse_accelerator

__all__ = ["GroupCalls", "SimulatedJob", "of", "read_job"]

GroupCalls = tuple[str, tuple[int, ...]]
"""The collectives of a kind that a group (ranks of the topology) calls."""

_NATIVE = "native algorithms of the pure network (rings, trees, direct messages)"


@dataclass(frozen=True, eq=False)
class SimulatedJob:
    """A job's traces, with what the request says of them: `asked` algorithms by kind, or one for all kinds, and whether
    the machine's library runs any collective (`runs_library`). `host_scale` and `folded` as in `simulate_traces`."""

    question: Question
    traces: TraceSet
    asked: Mapping[str, str] | str
    runs_library: bool
    compute_scale: Fraction
    accelerator: Accelerator | None
    host_scale: Fraction | None = None
    folded: bool | None = None

    def on(
        self, spec: str, topology: Topology | None = None, schedules: Mapping[GroupCalls, Schedule] | None = None
    ) -> Prediction:
        """The prediction on the topology that `spec` names, or on a variant of that (`topology`); `schedules` as in
        `simulate_traces`. Raises RequestError where the spec does not tell what computes and the job is to be priced
        anew, and what `simulate_traces` raises."""
        machine = self.machine(spec)
        by_chunks = asks_of_links(self.question.request, machine, spec)
        machine = replace(machine, topology=topology or machine.topology)
        algorithms = self.algorithms(machine)
        return machine.said(self._simulated(spec, machine, algorithms, by_chunks=by_chunks, schedules=schedules))

    def natively_on(self, spec: str, topology: Topology | None = None) -> Prediction:
        """The prediction on the same by the native algorithms that are fastest on its links, each after the launch of a
        kernel where what the request asks for has one."""
        machine = self.machine(spec)
        machine = replace(machine, topology=topology or machine.topology)
        return self._simulated(spec, machine, dict.fromkeys(DEFAULT_ALGORITHMS, AUTO), by_chunks=False)

    def machine(self, spec: str) -> StockMachine:
        """What `spec` names, with the library that runs there."""
        return stock_machine(self.question, spec, runs=self.runs_library, native=_NATIVE)

    def algorithms(self, machine: StockMachine) -> Mapping[str, str] | str:
        """Those that collectives follow there, by kind, or one for all kinds."""
        return self.asked if isinstance(self.asked, str) else _defaults(machine) | dict(self.asked)

    def _simulated(
        self,
        spec: str,
        machine: StockMachine,
        algorithms: Mapping[str, str] | str,
        *,
        by_chunks: bool,
        schedules: Mapping[GroupCalls, Schedule] | None = None,
    ) -> Prediction:
        request, job = self.question.request, self.question.request.job
        computes = None if job.accelerator == "none" else installation(spec).accelerator
        if job.reprice and not (self.accelerator or computes):
            raise RequestError(
                f"--reprice needs to know by what: {spec} has no accelerator, name it with --accelerator"
            )
        topology, num_ranks = machine.topology, self.traces.num_ranks
        return simulate_traces(
            self.traces,
            topology,
            algorithms=algorithms,
            nccl=machine.nccl,
            chunks_per_rank=request.chunks,
            compute_scale=self.compute_scale,
            host_scale=self.host_scale,
            placement=parse_placement(job.placement, topology, num_ranks) if job.placement else None,
            accelerator=self.accelerator,
            remote_memory=parse_remote_memory(job.remote_memory) if job.remote_memory else None,
            reprices=job.reprice,
            machine=computes,
            by_chunks=by_chunks,
            launch_ps=machine.launch_ps,
            schedules=schedules,
            folded=self.folded,
            fidelity=self.question.fidelity,
        )


def read_job(path: str, groups: str | None) -> TraceSet:
    """The traces of a folder, a prefix, or of the job in a file of `hocket generate llm -o NAME.job`."""
    if not is_job_file(path):
        return read_traces(path, groups)
    if groups is not None:
        raise RequestError(f"{path} makes its process groups itself: drop --groups")
    return traces_of_job_file(path)


def of(question: Question, traces: TraceSet) -> SimulatedJob:
    """The traces as the request has them simulated. Raises RequestError for options that make no sense together."""
    request, job = question.request, question.request.job
    asked = algorithms_of(request.algorithm)
    names = [asked] if isinstance(asked, str) else asked.values()
    if job.reprice and job.accelerator == "none":
        raise RequestError("--reprice needs an accelerator, and --accelerator none is none")
    return SimulatedJob(
        question=question,
        traces=traces,
        asked=asked,
        runs_library=asks_for_library(request, names, covers_all=isinstance(asked, str)),
        compute_scale=fraction("--compute-scale", job.compute_scale, 0),
        accelerator=parse_accelerator(job.accelerator) if job.accelerator not in (None, "none") else None,
    )


def _defaults(machine: StockMachine) -> dict[str, str]:
    """The algorithms of the kinds that nobody named one for."""
    if machine.nccl:
        return dict.fromkeys(DEFAULT_ALGORITHMS, LIBRARY)
    return dict.fromkeys(NAMED_KINDS, AUTO) if machine.launch_ps else {}
