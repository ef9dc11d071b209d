"""Performs the demo."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from hocket.api.demo.chain import Chain, run_chain
from hocket.api.demo.machine import PRICING
from hocket.api.demo.page import next_commands, report_page
from hocket.api.demo.request import Demo
from hocket.api.progress import Progress
from hocket.api.provenance import write_page
from hocket.api.result import Result
from hocket.base.errors import HocketError
from hocket.base.extras import install_command
from hocket.base.units import format_time

__all__ = ["DemoResult", "perform"]


def perform(request: Demo, progress: Progress) -> DemoResult:
    """Does the whole chain. Raises HocketError where a step of it fails or what it needs is not installed."""
    has_torch = find_spec("torch") is not None
    if request.torch and not has_torch:
        raise HocketError(f"PyTorch is not installed: {install_command('torch')} (3 GB), or use --no-torch")
    folder = Path(request.output)
    chain = run_chain(folder, has_torch if request.torch is None else request.torch, progress)
    result = DemoResult(request, chain)
    write_page(folder / "report.html", report_page(chain), result)
    return result


@dataclass(eq=False, repr=False)
class DemoResult(Result):
    """What each step of the chain found, in `chain`; everything it made is in `chain.folder`."""

    request: Demo
    chain: Chain

    def headline(self) -> str:
        """What the job gains, or that it does not."""
        chain = self.chain
        stock, costly = format_time(chain.before["time_ps"]), format_time(chain.after_with_costs_ps)
        alone, bound = format_time(chain.after["time_ps"]), format_time(chain.after["bound_ps"])
        times = (
            f"The job on {chain.slowest} takes {costly} with the synthesized all_reduce and {stock} with NCCL's"
            f" (on the links alone {alone}, bound {bound})"
        )
        if chain.job_wins and chain.job.wins:
            return f"{times}: synthesis wins."
        rival = f": {chain.job.rivals[0].name} does the all_reduce sooner" if not chain.job.wins else ""
        return f"{times}; synthesis does not win here{rival}."

    def summary(self) -> str:
        chain, out = self.chain, self.request.output
        contests = "\n\n".join(contest.text() for contest in chain.contests)
        return (
            f"\n{contests}\n\n{textwrap.fill(PRICING, 110)}\n\n{self.headline()}\n"
            f"The synthesized all_reduce was run on real processes with {chain.executed['wrong']} wrong values.\n\n"
            f"In {out}/: report.html (open it), traces/, predictions/, contests.json, ar.schedule, ar.xml, part.xml,"
            f" timeline.json.gz (ui.perfetto.dev), log.txt\nTry next, in {out}/:\n  "
            + next_commands(chain).replace("\n", "\n  ")
        )
