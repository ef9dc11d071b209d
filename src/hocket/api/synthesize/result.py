"""What a synthesis comes to: a schedule, one for each window of sizes, or one for each group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from hocket.api.provenance import write_page
from hocket.api.result import Result
from hocket.api.synthesize.request import Synthesis
from hocket.base.errors import RequestError
from hocket.base.files import make_folder, together, write_json
from hocket.base.standard_output import is_standard_output
from hocket.base.text import printable_lines
from hocket.base.text_table import text_table
from hocket.base.units import format_bandwidth, format_bytes, format_time
from hocket.report.page import Page
from hocket.report.schedule_facts import (
    GroupsFacts,
    PictureFacts,
    ScheduleFacts,
    WindowsFacts,
    native_times,
    picture_facts,
)
from hocket.report.schedule_page import groups_content, schedule_content, windows_content
from hocket.schedule import AnySchedule, save
from hocket.synthesizer import ScheduleWindow, Synthesized, Together, describe, summarize
from hocket.topology.naming import spans

if TYPE_CHECKING:
    from hocket.api.simulate.result import SimulationResult
    from hocket.api.translate.result import TranslationResult
    from hocket.api.verify.result import VerificationResult

__all__ = ["GroupsResult", "SynthesisResult", "WindowsResult"]


_MOST_DRAWN = 1_000_000  # transfers of a schedule of which JSON has what its page draws


class _Schedules(Result):
    """Schedules with their bounds; `parts` has them with what was proved of each."""

    _format = "hocket.schedule"

    def __init__(self, request: Synthesis, parts: Sequence[Synthesized]) -> None:
        self.request: Synthesis = request
        self.parts = tuple(parts)
        self._page: list[str] = []
        self._written: list[str] = []

    @property
    def schedules(self) -> tuple[AnySchedule, ...]:
        return tuple(part.schedule for part in self.parts)

    @cached_property
    def numbers(self) -> list[dict[str, Any]]:
        """Of each part, by names with units (docs/synthesizer.md)."""
        return [summarize(part) for part in self.parts]

    def columns(self) -> Mapping[str, Mapping[str, Any]]:
        return {"schedules": {name: np.array([one[name] for one in self.numbers]) for name in self.numbers[0]}}

    def as_json(self) -> dict[str, Any]:
        """The numbers and what its page draws, with the request that was answered."""
        form = {"format": self._format, "version": 1, "headline": self.headline()}
        drawn = {name: msgspec.to_builtins(value) for name, value in self._drawn(whole=False).items()}
        return form | self._content() | drawn | {"request": self.request.to_plain()}

    def summary(self) -> str:
        notes = [f"note: {note}" for note in self.schedules[0].topology.notes]
        return printable_lines([*notes, *self._page, *self._lines(), *self._written])

    def write(self) -> None:
        """Writes the schedules, the numbers and the page where the request wants them: all or nothing."""
        request = self.request
        with together():
            if request.output is not None:
                self._written.append(f"{'written':<16}{self._save(Path(request.output))}")
            if request.json is not None:
                write_json(request.json, self.as_json())
            if request.report is not None:
                write_page(request.report, self._page_content().html(), self)
                self._page.append(f"wrote {request.report}")

    def _content(self) -> dict[str, Any]:
        raise NotImplementedError

    def _lines(self) -> list[str]:
        raise NotImplementedError

    def _save(self, output: Path) -> str:
        """Writes the schedules; what was written."""
        raise NotImplementedError

    def _drawn(self, whole: bool) -> dict[str, Any]:
        """What its page has beside the numbers: all of it, or what JSON takes."""
        return {}

    def _page_content(self) -> Page:
        raise NotImplementedError


class SynthesisResult(_Schedules):
    """A schedule; `resumed_at` is the round at which a search that had been cut off went on, if it did."""

    def __init__(self, request: Synthesis, one: Synthesized, resumed_at: int | None = None) -> None:
        super().__init__(request, [one])
        self.resumed_at = resumed_at

    @property
    def schedule(self) -> AnySchedule:
        return self.parts[0].schedule

    @property
    def _file(self) -> str:
        """What the steps that follow call the schedule: its file, or one that could be."""
        return self.request.output or f"{self.request.collective}.schedule"

    def verify(self) -> VerificationResult:
        """`hocket.verify` of the schedule."""
        from hocket.api.verify.request import Verification
        from hocket.api.verify.schedules import verify_schedules

        return verify_schedules(Verification.of(self._file), [self.schedule])

    def simulate(self, **options: Any) -> SimulationResult:
        """`hocket.simulate` of the schedule."""
        from hocket.api.simulate.perform import predict_schedule
        from hocket.api.simulate.request import Simulation

        with Simulation.spoken_in_python(), together():
            return predict_schedule(Simulation.of(self._file, **options), self.schedule)

    def translate(self, to: str, output: str | Path | None = None, **options: Any) -> TranslationResult:
        """`hocket.translate` of the schedule to a runtime or a format."""
        from hocket.api.translate.perform import translate_schedule
        from hocket.api.translate.request import Translation

        with Translation.spoken_in_python(), together():
            request = Translation.of(self._file, to=to, output=output, **options)
            return translate_schedule(request, self.schedule)

    @property
    def whole_times_ps(self) -> tuple[int, int]:
        return self.numbers[0]["time_ps"], self.numbers[0]["bound_ps"]

    def headline(self) -> str:
        one = self.numbers[0]
        return (
            f"{one['collective']} of {format_bytes(one['size_bytes'])} on {one['topology']}: "
            f"{format_time(one['time_ps'])}, {one['ratio']:.4f} times the bound, by {one['engine']}"
        )

    def columns(self) -> Mapping[str, Mapping[str, Any]]:
        # The translator's room is large, and only this needs it.
        from hocket.translator.formats.transfers import transfer_table

        return {**super().columns(), "transfers": transfer_table(self.schedule.expand())}

    def _content(self) -> dict[str, Any]:
        return self.numbers[0]

    def _lines(self) -> list[str]:
        resumed = "" if self.resumed_at is None else f", resumed at round {self.resumed_at}"
        return f"{describe(self.numbers[0])}{resumed}".split("\n")

    def _save(self, output: Path) -> str:
        save(self.schedule, output)
        return str(output)

    def _drawn(self, whole: bool) -> dict[str, Any]:
        if not whole and self.numbers[0]["transfers"] > _MOST_DRAWN:
            return {"picture": None, "native_ps": {}}
        return {"picture": self._picture, "native_ps": self._native_ps}

    @cached_property
    def _picture(self) -> PictureFacts:
        return picture_facts(self.schedule.expand())

    @cached_property
    def _native_ps(self) -> dict[str, int]:
        return native_times(self.parts[0])

    def _page_content(self) -> Page:
        return schedule_content(msgspec.convert(self.numbers[0] | self._drawn(whole=True), ScheduleFacts))


class WindowsResult(_Schedules):
    """The schedules that are the quickest somewhere in a range of sizes; `parts` has one for each size."""

    several = "windows"
    _format = "hocket.schedules_by_size"

    def __init__(self, request: Synthesis, found: Sequence[ScheduleWindow]) -> None:
        super().__init__(request, [one for window in found for one in window.at])
        self.windows = tuple(found)

    def headline(self) -> str:
        one, several = self.numbers[0], f"schedule{'s' * (len(self.windows) > 1)}"
        return f"{one['collective']} on {one['topology']}: {len(self.windows)} {several} for {len(self.parts)} sizes"

    def _names(self) -> list[str]:
        return [
            f"{window.at[0].schedule.collective.kind}.{number}.schedule" for number, window in enumerate(self.windows)
        ]

    def _content(self) -> dict[str, Any]:
        numbers = iter(self.numbers)
        return {
            "windows": [
                {
                    "schedule": name,
                    "min_bytes": window.sizes[0],
                    "max_bytes": window.sizes[-1],
                    "sizes": [next(numbers) for _ in window.at],
                }
                for name, window in zip(self._names(), self.windows, strict=True)
            ]
        }

    def _lines(self) -> list[str]:
        names = [name for name, window in zip(self._names(), self.windows, strict=True) for _ in window.at]
        rows = [
            (
                format_bytes(one["size_bytes"]),
                format_time(one["time_ps"]),
                format_time(one["bound_ps"]),
                format_time(one["bound_any_chunks_ps"]),
                f"{one['ratio']:.4f}",
                format_bandwidth(one["algbw_bytes_per_s"]),
                format_bandwidth(one["busbw_bytes_per_s"]),
                one["chunks_per_rank"],
                one["engine"],
                name,
            )
            for one, name in zip(self.numbers, names, strict=True)
        ]
        heads = ("size", "time", "bound", "any chunks", "ratio", "algbw", "busbw", "chunks", "engine", "schedule")
        return text_table(heads, rows, align="<" * len(heads))

    def _save(self, output: Path) -> str:
        """A file a window, timed for its largest size."""
        make_folder(output)
        for name, window in zip(self._names(), self.windows, strict=True):
            save(window.at[-1].schedule, output / name)
        return f"{len(self.windows)} schedule{'s' * (len(self.windows) > 1)} to {output}"

    def _page_content(self) -> Page:
        return windows_content(msgspec.convert(self._content(), WindowsFacts))


class GroupsResult(_Schedules):
    """A schedule for each group, all on one timeline; `whole` is all of them as one."""

    several = "schedules"
    _format = "hocket.schedules_of_groups"

    def __init__(self, request: Synthesis, found: Together) -> None:
        super().__init__(request, found.parts)
        self.whole, self._found = found.whole, found

    def headline(self) -> str:
        whole = summarize(self.whole)
        return (
            f"{self.request.collective} of {len(self.parts)} groups on {whole['topology']}: "
            f"{format_time(whole['time_ps'])}, {whole['ratio']:.4f} times the bound, by {whole['engine']}"
        )

    def _content(self) -> dict[str, Any]:
        groups = [spans(part.schedule.expand().ranks.tolist()) for part in self.parts]
        return {
            **summarize(self.whole),
            "groups": [{**one, "group": group} for one, group in zip(self.numbers, groups, strict=True)],
        }

    def _lines(self) -> list[str]:
        rows = [
            (
                number,
                spans(part.schedule.expand().ranks.tolist()),
                format_time(one["time_ps"]),
                format_time(one["bound_ps"]),
                format_time(one["bound_any_chunks_ps"]),
                f"{one['ratio']:.4f}",
                format_bandwidth(one["algbw_bytes_per_s"]),
                format_bandwidth(one["busbw_bytes_per_s"]),
                one["transfers"],
            )
            for number, (part, one) in enumerate(zip(self.parts, self.numbers, strict=True))
        ]
        heads = ("group", "ranks", "time", "bound alone", "any chunks", "ratio", "algbw", "busbw", "transfers")
        whole = summarize(self.whole)
        return [
            *text_table(heads, rows, align="<" * len(heads)),
            f"at once: {format_time(whole['time_ps'])}, bound {format_time(whole['bound_ps'])} "
            f"({whole['bound_reason']}), of any chunks {format_time(whole['bound_any_chunks_ps'])}, "
            f"ratio {whole['ratio']:.4f}; verified together: {whole['engine']}, {whole['synthesis_seconds']:.2f} s",
        ]

    def _save(self, output: Path) -> str:
        """A file a group, `FILE.0.schedule` and so on."""
        if is_standard_output(output):
            raise RequestError(f"--output {output}: several groups are a file each: name FILE.schedule")
        paths = [output.with_name(f"{output.stem}.{number}{output.suffix}") for number in range(len(self.parts))]
        for part, path in zip(self.parts, paths, strict=True):
            save(part.schedule, path)
        return f"{paths[0]} to {paths[-1].name}"

    def _drawn(self, whole: bool) -> dict[str, Any]:
        too_many = not whole and sum(one["transfers"] for one in self.numbers) > _MOST_DRAWN
        return {"picture": None if too_many else self._picture}

    @cached_property
    def _picture(self) -> PictureFacts:
        return picture_facts(self.whole.schedule.expand())

    def _page_content(self) -> Page:
        return groups_content(msgspec.convert(self._content() | self._drawn(whole=True), GroupsFacts))
