"""What a library chose in a run, call by call: NCCL by its log and the launches that it made of it, RCCL as asked."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hocket.base.errors import FormatError
from hocket.nccl.log import read_tuning
from hocket.nccl.names import COLLECTIVES, EVERY_ALGORITHM, PROTOCOLS
from hocket.nccl.stock.job import Mode, StockCall, StockJob
from hocket.nccl.stock.run import Plan, StockRun
from hocket.nccl.stock.sources import RcclSources

__all__ = ["StockChoice", "stock_choices"]

#: Rank 0's, of its host's first GPU: `host:123:456 [0] ... NCCL INFO|TRACE text`.
_LINE = re.compile(r"\[0\] (?:.* )?NCCL (?:INFO|TRACE) (.*)")


@dataclass(frozen=True)
class StockChoice:
    """A collective `call` and what the library took for it. `time_us`: what its own model expects (`Mode.CHOOSE`),
    `channels`: how many were launched (else), or, where `told`, are to be. `collective` is NCCL's name."""

    call: StockCall
    collective: str
    algorithm: str
    protocol: str
    time_us: float | None = None
    channels: int | None = None
    told: bool = False

    @property
    def name(self) -> str:
        """`Ring/LL`"""
        return f"{self.algorithm}/{self.protocol}"


def stock_choices(run: StockRun, job: StockJob) -> list[StockChoice]:
    """One for each call of a collective that the library chooses for, in the job's order; of a job without groups.

    Raises FormatError where there is not one choice a call: then the run is not of this job.
    """
    return _told(run, job) if isinstance(run.sources, RcclSources) else _logged(run, job)


_KNOWN = {name.lower(): name for name in COLLECTIVES}


def _calls(job: StockJob) -> list[StockCall]:
    return [call for call in job.calls if call.kind.replace("_", "") in _KNOWN]


def _told(run: StockRun, job: StockJob) -> list[StockChoice]:
    """RCCL's, which rank 0 was told; of what its model knows no time of, RCCL leaves the time as it was, below zero."""
    lines = run.answers.read_text(encoding="utf-8").splitlines()
    told = [answer for line in lines if "algorithm" in (answer := json.loads(line))]
    calls = _calls(job)
    if len(told) != len(calls):
        raise FormatError(f"{run.answers}: {len(told)} choices of RCCL's for {len(calls)} calls")
    return [
        StockChoice(
            *(call, _KNOWN[call.kind.replace("_", "")]),
            EVERY_ALGORITHM[one["algorithm"]],
            PROTOCOLS[one["protocol"]],
            one["time_us"] if one["time_us"] > 0 else None,
            one["channels"],
            told=True,
        )
        for call, one in zip(calls, told, strict=True)
    ]


def _logged(run: StockRun, job: StockJob) -> list[StockChoice]:
    calls = _calls(job)
    texts = run.log.read_text(encoding="utf-8", errors="replace").splitlines()
    lines = (found[1] for line in texts if (found := _LINE.search(line)))
    logged = [one for line in lines if (one := read_tuning(line, str(run.log)))]
    if job.mode is Mode.CHOOSE:
        logged = [one for one in logged if one.time_us is not None]
    else:
        logged = [one for one in logged if one.time_us is None]
    if len(logged) != len(calls):
        raise FormatError(f"{run.log}: {len(logged)} choices of NCCL's for {len(calls)} calls")
    launched = _launched(run.plans(), job)
    return [
        StockChoice(
            *(call, _KNOWN[call.kind.replace("_", "")], one.algorithm, one.protocol, one.time_us),
            channels=launched.get(call, one.channels),
        )
        for call, one in zip(calls, logged, strict=True)
    ]


def _launched(plans: Iterator[Plan], job: StockJob) -> Mapping[StockCall, int]:
    """Channels that rank 0's kernels ran on, by call."""
    on: dict[int, set[int]] = {}
    for plan in plans:
        if plan.rank == 0:
            on.setdefault(plan.step, set()).update(plan.channels)
    return {call: len(on[step]) for step, call in enumerate(job.calls) if step in on}
