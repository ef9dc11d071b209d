"""Who does an all_reduce soonest: the stock library, the best native algorithm, the synthesized schedule, the bound.

NCCL's times hold launches, steps and the rates of its kernels, those of schedules only what links take. So the best
native and the synthesized schedules become programs that pay the same, and only these are set against NCCL.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hocket.api.demo.machine import ContestMachine, ContestTime, PricedProgram
from hocket.base.errors import ScheduleError
from hocket.base.text_table import text_table
from hocket.base.units import format_bytes, format_time
from hocket.schedule import Collective, Kind, load_expanded, lower_bound
from hocket.simulator import simulate_schedule

__all__ = ["Contest", "hold"]

_CLOSE = 2  # times the least on the links alone, for a native algorithm that becomes a program

_LEAST_GAIN = 1.01


@dataclass(frozen=True, eq=False)
class Contest:
    """What each takes for `collective`: `native` and `synthesized` on the links alone, `stock` and the programs with
    the costs of kernels. `stock_model` is what NCCL itself expects; `native_program` is None where none fits. `path`:
    the synthesized schedule."""

    path: Path
    machine: ContestMachine
    collective: Collective
    stock: ContestTime
    stock_model: ContestTime
    native: ContestTime
    native_program: PricedProgram | None
    synthesized: ContestTime
    synthesized_program: PricedProgram
    bound: ContestTime

    @property
    def num_copies(self) -> int:
        """Of the schedule in the quickest of its programs."""
        return self.synthesized_program.copies

    @property
    def rivals(self) -> list[ContestTime]:
        """What the synthesized program has to beat, the quickest first."""
        known = [self.stock, self.stock_model, *([self.native_program] if self.native_program else [])]
        return sorted(known, key=lambda rival: rival.time_ps)

    @property
    def wins(self) -> bool:
        """By more than predictions of the same costs tell apart."""
        return self.synthesized_program.time_ps * _LEAST_GAIN < self.rivals[0].time_ps

    @property
    def verdict(self) -> str:
        """Whether synthesis wins with costs, and against whom."""
        ours = self.synthesized_program.time_ps
        known = " and ".join(f"{format_time(rival.time_ps)} of {rival.name}" for rival in self._named_rivals)
        times = f"{format_time(ours)} against {known}"
        if not self.wins:
            return f"does not win here: {times}"
        return f"wins, {self.rivals[0].time_ps / ours:.2f} times as fast as the next: {times}"

    @property
    def _named_rivals(self) -> list[ContestTime]:
        """Those of a verdict: NCCL and the best native program; what NCCL expects where it is the least of all."""
        return [rival for rival in self.rivals if rival is not self.stock_model or rival is self.rivals[0]]

    @property
    def title(self) -> str:
        return f"all_reduce of {format_bytes(self.collective.size_bytes)} on {self.machine.topology.name}"

    def rows(self) -> tuple[Sequence[str], list[list[str]]]:
        """Heads and rows of a table."""
        return ("contender", "links alone", "with NCCL's launch and steps"), [
            ["stock library", "", _said(self.stock)],
            ["its own model", "", _said(self.stock_model)],
            ["best native", _said(self.native), _said(self.native_program)],
            ["synthesized", _said(self.synthesized), _said(self.synthesized_program)],
            ["bound", _said(self.bound), ""],
        ]

    def text(self) -> str:
        heads, rows = self.rows()
        return "\n".join([f"{self.title}: synthesis {self.verdict}", *text_table(heads, rows, align="<<<", gap=3)])

    def document(self) -> dict[str, Any]:
        """For JSON; times are in ps."""
        entries = {
            "stock": self.stock,
            "stock_model": self.stock_model,
            "native": self.native,
            "native_program": self.native_program,
            "synthesized": self.synthesized,
            "synthesized_program": self.synthesized_program,
            "bound": self.bound,
        }
        times = {name: {"name": each.name, "time_ps": each.time_ps} for name, each in entries.items() if each}
        where = {"topology": self.machine.topology.name, "size_bytes": self.collective.size_bytes}
        return {**where, **times, "copies": self.num_copies, "wins": self.wins}

    def costs_ps(self, sizes: Iterable[int]) -> int:
        """What kernels add to calls of these sizes by the schedule on the links alone, each call by the program or,
        where that is quicker, by NCCL."""
        return sum(count * self._cost_ps(size) for size, count in Counter(sizes).items())

    def _cost_ps(self, size_bytes: int) -> int:
        call = replace(self.collective, size_bytes=size_bytes)
        alone = self.machine.taken(call, str(self.path)).time_ps
        program = self.machine.program_ps(self.synthesized_program.program, size_bytes)
        return max(0, min(program, self.machine.stock(call).time_ps) - alone)


def _said(entry: ContestTime | None) -> str:
    if entry is None:
        return "no program fits"
    copies = f", {entry.copies} copies" if isinstance(entry, PricedProgram) and entry.copies > 1 else ""
    return f"{entry.name}{copies}: {format_time(entry.time_ps)}"


def hold(path: Path) -> Contest:
    """The contest of the synthesized schedule in the file, for its own collective and topology. Raises ScheduleError
    where it makes no program."""
    schedule = load_expanded(path)
    machine, cut = ContestMachine(schedule.topology), schedule.collective
    whole = Collective(Kind(cut.kind), cut.num_ranks, cut.size_bytes, 1)
    synthesized = ContestTime(schedule.generator, simulate_schedule(schedule).time_ps)
    program = machine.quickest([(synthesized, schedule)])
    if program is None:
        raise ScheduleError(f"{path}: makes no program that fits the runtime")
    natives = machine.natives(whole, cut.chunks_per_rank)
    native = natives[0][0]
    bound = lower_bound(cut, machine.topology)
    close = [each for each in natives if each[0].time_ps <= _CLOSE * native.time_ps]
    return Contest(
        path=path,
        machine=machine,
        collective=whole,
        stock=machine.stock(whole),
        stock_model=machine.taken(whole, "nccl-model"),
        native=native,
        native_program=machine.quickest(close),
        synthesized=synthesized,
        synthesized_program=program,
        bound=ContestTime(bound.reason, bound.time_ps),
    )
