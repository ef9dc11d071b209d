"""What NCCL chose in a run, call by call: from its log, and the launches that it made of it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hocket.base.errors import FormatError
from hocket.nccl.log import read_tuning
from hocket.nccl.names import COLLECTIVES
from hocket.nccl.stock.job import Mode, StockCall, StockJob
from hocket.nccl.stock.run import Plan, StockRun

__all__ = ["StockChoice", "stock_choices"]

#: Rank 0's, of its host's first GPU: `host:123:456 [0] ... NCCL INFO|TRACE text`.
_LINE = re.compile(r"\[0\] (?:.* )?NCCL (?:INFO|TRACE) (.*)")


@dataclass(frozen=True)
class StockChoice:
    """A collective `call` and what NCCL took for it. `time_us`: what its own model expects (`Mode.CHOOSE`), `channels`:
    how many were launched (else). `collective` is NCCL's name."""

    call: StockCall
    collective: str
    algorithm: str
    protocol: str
    time_us: float | None = None
    channels: int | None = None

    @property
    def name(self) -> str:
        """`Ring/LL`"""
        return f"{self.algorithm}/{self.protocol}"


def stock_choices(run: StockRun, job: StockJob) -> list[StockChoice]:
    """One for each call of a collective that NCCL chooses for, in the job's order; of a job without groups.

    Raises FormatError where the log does not have one line a call: then it is not of this job.
    """
    known = {name.lower(): name for name in COLLECTIVES}
    calls = [call for call in job.calls if call.kind.replace("_", "") in known]
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
            *(call, known[call.kind.replace("_", "")], one.algorithm, one.protocol, one.time_us),
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
