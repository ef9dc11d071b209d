"""Says what differs between two runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass

from hocket.api.progress import Progress
from hocket.api.result import Result
from hocket.api.trace.request import TraceDiff
from hocket.base.errors import ExitCode
from hocket.base.files import write_json
from hocket.base.text import printable_lines
from hocket.base.text_table import text_table
from hocket.chakra.difference import Difference, DurationChange, difference
from hocket.chakra.reading import open_traces

__all__ = ["TraceDifference", "perform"]

_SHOWN = 20


def perform(request: TraceDiff, progress: Progress) -> TraceDifference:
    first, second = (open_traces(path, None, request.schema) for path in (request.first, request.second))
    result = TraceDifference(request, difference(first, second))
    if request.json:
        found = {"differs": result.found.differs, **asdict(result.found)}
        write_json(request.json, {"request": request.to_plain(), **found})
    return result


@dataclass(frozen=True, eq=False, repr=False)
class TraceDifference(Result):
    """What two runs do differently; `exit_code` is not 0 where they communicate differently, or take longer or shorter
    than the request's `durations` allow."""

    request: TraceDiff
    found: Difference

    @property
    def slower(self) -> bool:
        """Whether computation or communication changed by more than the request allows."""
        allowed = self.request.durations
        return allowed is not None and any(abs(total.percent) > allowed for total in self.found.totals)

    @property
    def exit_code(self) -> ExitCode:  # type: ignore[override]
        return ExitCode.CHECK_FAILED if self.found.differs or self.slower else ExitCode.DONE

    def headline(self) -> str:
        return "the runs communicate differently" if self.found.differs else "the runs communicate alike"

    def summary(self) -> str:
        changed = f"computation or communication changed by more than {self.request.durations or 0:g} %"
        lines = [*self._communication(), *self._durations(), self.headline(), *[changed] * self.slower]
        return printable_lines(lines)

    def _communication(self) -> Iterator[str]:
        found = self.found
        if found.num_ranks[0] != found.num_ranks[1]:
            yield f"ranks: {found.num_ranks[0]} -> {found.num_ranks[1]}"
        for kind, (before, after) in found.nodes_per_type.items():
            yield f"{kind} nodes: {before}" + (f" -> {after}" if before != after else "")
        for which, groups in (("first", found.groups_only_first), ("second", found.groups_only_second)):
            for ranks in groups:
                yield f"group of ranks {list(ranks)}: only in the {which}"
        for change in found.communication[:_SHOWN]:
            dtype = f" of {change.dtype}" if change.dtype else ""
            where = f" among ranks {list(change.group_ranks)}" if change.group_ranks else ""
            yield f"{change.kind} of {change.bytes} bytes{dtype}{where}: {change.first} -> {change.second}"
        if len(found.communication) > _SHOWN:
            yield f"... and {len(found.communication) - _SHOWN} more (--json has all)"
        for one in found.divergences[:_SHOWN]:
            yield f"rank {one.rank} first differs at its communication {one.index}:"
            for which, node, text in (("first", one.first_node, one.first), ("second", one.second_node, one.second)):
                yield f"  {which}: " + ("nothing more" if text is None else f"node {node}, {text}")
        if len(found.divergences) > _SHOWN:
            yield f"... and {len(found.divergences) - _SHOWN} more ranks (--json has all)"

    def _durations(self) -> list[str]:
        """The table of measured times: ranks' kinds that changed most, then the sums."""
        found = self.found
        shown = sorted(found.durations, key=lambda change: -abs(change.second - change.first))[:_SHOWN]
        rows = [_cells(str(one.rank), one) for one in sorted(shown, key=lambda one: (one.rank, one.kind))]
        if len(found.durations) > _SHOWN:
            less = f"and {len(found.durations) - _SHOWN} that changed less (--json has all)"
            rows.append(("...", less, "", "", ""))
        rows += [_cells("all", total) for total in found.totals]
        return text_table(("rank", "measured time", "first", "second", "change"), rows, align="<<")


def _cells(rank: str, one: DurationChange) -> tuple[str, str, str, str, str]:
    return rank, one.kind, f"{one.first / 1e6:.3f} ms", f"{one.second / 1e6:.3f} ms", f"{one.percent:+.1f} %"
