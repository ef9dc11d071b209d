"""What a self-test comes to: how each part ended, and the stock library's times beside those of Hocket's programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hocket.api.result import Result
from hocket.api.selftest.outcome import PartOutcome, State
from hocket.api.selftest.request import SelfTest
from hocket.base.errors import ExitCode
from hocket.base.text import printable_lines
from hocket.base.text_table import text_table
from hocket.base.units import format_bytes

__all__ = ["SelfTestResult", "line_of"]

_BY = ("stock", "native", "device", "messages")
_MOST_REASONS = 3
_US = 10**6  # picoseconds


def line_of(name: str, outcome: PartOutcome, how: str = "") -> Iterator[str]:
    """A part in a line, and what it failed at in more."""
    told = outcome.said or ("" if outcome.state is State.FAILED else "; ".join(outcome.reasons))
    time = how or (f"{outcome.seconds:.1f} s" if outcome.state is not State.SKIPPED else "")
    yield f"{name:<13} {outcome.state:<8} {time:>11}  {told}".rstrip()
    if outcome.state is State.FAILED:
        for reason in outcome.reasons[:_MOST_REASONS]:
            yield f"{'':13} {reason}"
        if rest := outcome.reasons[_MOST_REASONS:]:
            yield f"{'':13} and {len(rest)} more, in the file"


@dataclass(eq=False, repr=False)
class SelfTestResult(Result):
    """`outcomes` by the names of parts, as they are in the file; `notes`: why there are none of GPUs."""

    request: SelfTest
    outcomes: Mapping[str, PartOutcome]
    notes: Sequence[str] = ()

    @property
    def exit_code(self) -> int:  # type: ignore[override]
        failed = any(outcome.state is State.FAILED for outcome in self.outcomes.values())
        return ExitCode.CHECK_FAILED if failed else ExitCode.DONE

    def headline(self) -> str:
        states = [outcome.state for outcome in self.outcomes.values()]
        counts = (f"{states.count(state)} {state}" for state in State if state in states)
        return f"{', '.join(counts)} of {len(states)} parts"

    def rest(self) -> str:
        return printable_lines(self._rest())

    def summary(self) -> str:
        parts = (line for name, outcome in self.outcomes.items() for line in line_of(name, outcome))
        return printable_lines([*self.notes, *parts, *self._rest()])

    def columns(self) -> Mapping[str, Mapping[str, Any]]:
        """The parts; times in picoseconds of each collective and size, 0 where they were not measured."""
        outcomes = self.outcomes
        parts = {
            "part": np.array([*outcomes]),
            "state": np.array([str(outcome.state) for outcome in outcomes.values()]),
            "seconds": np.array([outcome.seconds for outcome in outcomes.values()]),
        }
        tables = {"parts": parts}
        for prefix in ("gpu-", ""):
            if rows := self._times(prefix):
                table = {"collective": np.array([kind for kind, _ in rows])}
                table["size_bytes"] = np.array([size for _, size in rows])
                tables[f"{prefix}times"] = table | {
                    f"{by}_ps": np.array([times.get(by, 0) for times in rows.values()]) for by in _BY
                }
        return tables

    def _rest(self) -> Iterator[str]:
        for prefix, title in (("gpu-", "GPUs, NCCL"), ("", "CPU cores, gloo")):
            if rows := self._times(prefix):
                yield from ("", f"{title}: the stock library beside Hocket's programs")
                columns = [by for by in _BY if any(by in times for times in rows.values())]
                heads = ("collective", "size", *(f"{by} us" for by in columns))
                yield from text_table(heads, (_cells(*row, columns) for row in rows.items()), align="<")
        yield from (
            "",
            f"{self.headline()}; wrote {self.request.output}: send it back (docs/selftest.md says what is in it)",
        )

    def _times(self, prefix: str) -> dict[tuple[str, int], dict[str, int]]:
        """By collective and size, of each way that was measured."""
        found: dict[tuple[str, int], dict[str, int]] = {}
        for by in _BY:
            outcome = self.outcomes.get(prefix + by)
            for row in outcome.facts.get("times", []) if outcome else []:
                found.setdefault((row["collective"], row["size_bytes"]), {})[by] = row["time_ps"]
        return found


def _cells(place: tuple[str, int], times: Mapping[str, int], columns: Sequence[str]) -> tuple[str, ...]:
    kind, size = place
    return (kind, format_bytes(size), *(f"{times[by] / _US:.1f}" if by in times else "-" for by in columns))
