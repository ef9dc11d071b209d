"""Performs the demo."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from hocket.api.demo.chain import Chain, run_chain
from hocket.api.demo.page import next_commands, report_page
from hocket.api.demo.request import Demo
from hocket.api.progress import Progress
from hocket.api.provenance import write_page
from hocket.api.result import Result
from hocket.base.errors import HocketError
from hocket.base.units import format_bytes, format_time

__all__ = ["DemoResult", "perform"]


def perform(request: Demo, progress: Progress) -> DemoResult:
    """Does the whole chain. Raises HocketError where a step of it fails or what it needs is not installed."""
    if find_spec("plotly") is None:
        raise HocketError("the report needs plotly: pip install 'hocket[report]'")
    has_torch = find_spec("torch") is not None
    if request.torch and not has_torch:
        raise HocketError("PyTorch is not installed: pip install 'hocket[torch]' (3 GB), or use --no-torch")
    folder = Path(request.output)
    chain = run_chain(folder, has_torch if request.torch is None else request.torch, progress)
    write_page(folder / "report.html", report_page(chain), request)
    return DemoResult(request, chain)


@dataclass(eq=False, repr=False)
class DemoResult(Result):
    """What each step of the chain found, in `chain`; everything it made is in `chain.folder`."""

    request: Demo
    chain: Chain

    def headline(self) -> str:
        before, after = self.chain.before, self.chain.after
        return (
            f"The run on {self.chain.slowest}: {format_time(before['time_ps'])} predicted, "
            f"{format_time(after['time_ps'])} with the new all_reduce (bound {format_time(after['bound_ps'])})."
        )

    def summary(self) -> str:
        chain, synthesis, out = self.chain, self.chain.synthesis, self.request.output
        return (
            f"\n{self.headline()}\n"
            f"The new all_reduce of {format_bytes(chain.size_bytes)}: {format_time(synthesis['time_ps'])}, "
            f"{synthesis['ratio']:.3f} times its bound; run on real processes with {chain.executed['wrong']} wrong"
            f" values.\n\nIn {out}/: report.html (open it), traces/, predictions/, ar.schedule, ar.xml,"
            f" timeline.json.gz (ui.perfetto.dev), log.txt\nTry next, in {out}/:\n  "
            + next_commands(chain).replace("\n", "\n  ")
        )
