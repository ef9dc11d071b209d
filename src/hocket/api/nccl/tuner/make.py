"""Makes a table for the tuner plugin, from measurements or from the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from hocket.api.nccl.naming import collectives_named, sizes_between
from hocket.api.nccl.request import TunerTableRequest
from hocket.api.nccl.tuner.predicted import calibrated, models_of, simulated
from hocket.api.nccl.tuner.sources import measured
from hocket.api.progress import Progress
from hocket.api.result import Report
from hocket.base.errors import RequestError
from hocket.base.files import require_place
from hocket.base.units import format_bytes
from hocket.calibration import read_nccl_calibration
from hocket.nccl.tuning import (
    Timing,
    TunerRule,
    Winners,
    find_winners,
    predicted_rules,
    rules_of,
    write_constants,
    write_rules,
)

__all__ = ["MadeTable", "perform"]


@dataclass(eq=False, repr=False)
class MadeTable(Report):
    """The rules of a table that was written; none where NCCL's own choices are the quickest, or constants are."""

    rules: tuple[TunerRule, ...] = ()

    def details(self) -> Mapping[str, Any]:
        return {"rules": [asdict(rule) for rule in self.rules]}

    def headline(self) -> str:
        return self.lines[-1]


def perform(request: TunerTableRequest, progress: Progress) -> MadeTable:
    output = _checked(request)
    require_place(output)
    why = "NCCL's own choices are the quickest"
    if request.constants is not None:
        return MadeTable(request, list(_constants(Path(request.constants), output)))
    if request.topology is not None and not (request.calibration or request.simulate):
        names, sizes = _asked(request)
        models = models_of(request.topology, request.nodes, request.settings, request.version)
        rules = [rule for model in models for rule in predicted_rules(model, names, sizes)]
        lines = list(_rules(rules))
        note = f"what NCCL 2.30.7 chooses on {_machine(request)}, by its model"
    else:
        timed, noise, note = _timed(request, progress)
        found = find_winners(timed, round(request.margin * 10_000), noise)
        lines = [line for winners in found for line in _described(winners)]
        rules = list(rules_of(found, extrapolate=request.extrapolate))
        why = "nothing is quicker by more than the noise of the fits" if noise else why
    if rules:
        write_rules(rules, output, [f"by hocket nccl tuner make: {note}"])
        lines.append(f"wrote {output}: {len(rules)} rule{'s' * (len(rules) != 1)}")
    else:
        lines.append(f"{why}: no table is written, none is needed")
    return MadeTable(request, lines, rules=tuple(rules))


def _checked(request: TunerTableRequest) -> Path:
    """Where the table goes, of a request that makes sense."""
    if request.output is None:
        raise RequestError("say where the table goes: -o table.csv")
    runs = bool(request.files or request.run or request.baseline)
    if [runs, request.topology is not None, request.constants is not None].count(True) != 1:
        raise RequestError("give outputs of runs (FILES, --run, --baseline), or --topology, or --constants")
    if request.topology is None and (request.settings or request.calibration or request.simulate):
        raise RequestError("--set, --calibration and --simulate go with --topology")
    if request.calibration and request.simulate:
        raise RequestError("--calibration and --simulate: one of them")
    return Path(request.output)


def _timed(request: TunerTableRequest, progress: Progress) -> tuple[list[Timing], dict[tuple[str, int, int], int], str]:
    """The times of choices, the noise of those that were fitted (`find_winners`), and where they are from."""
    if request.topology is None:
        return measured(request), {}, "the quickest of what was measured"
    names, sizes = _asked(request)
    models = models_of(request.topology, request.nodes, request.settings, request.version)
    if request.calibration:
        note = f"the quickest by {Path(request.calibration).name} on {_machine(request)}"
        return *calibrated(models, names, sizes, request.calibration), note
    note = f"the quickest as simulated on {request.simulate}, for {_machine(request)}"
    return simulated(models, str(request.simulate), names, sizes, progress), {}, note


def _asked(request: TunerTableRequest) -> tuple[list[str], list[int]]:
    """NCCL's names, of all without one, and the sizes, each twice the one before."""
    return collectives_named([request.collective or "all"]), sizes_between(request.least, request.most)


def _machine(request: TunerTableRequest) -> str:
    return " ".join([Path(str(request.topology)).name, *request.settings])


def _constants(calibration: Path, output: Path) -> Iterator[str]:
    """Writes what was fitted over the constants of NCCL's model."""
    fitted = read_nccl_calibration(calibration)
    nodes = [fit.nodes for fit in fitted.fits]
    note = f"by hocket nccl tuner make: constants of NCCL {fitted.release.name}'s model by {calibration.name}"
    count = write_constants(fitted.constants, fitted.release.constants, (min(nodes), max(nodes)), output, [note])
    if not count:
        yield "NCCL's own constants come as near as any: no table is written, none is needed"
        return
    yield f"wrote {output}: {count} constants, for {min(nodes)} to {max(nodes)} nodes"
    yield (
        "note: they may also change what NCCL chooses for collectives that were not measured:"
        f" hocket nccl tuner check {output} --nodes N --against MACHINE"
    )


def _described(winners: Winners) -> Iterator[str]:
    noise = f"noise {winners.noise_ppm / 1e4:.1f}%, " if winners.noise_ppm else ""
    count = len(winners.choices) + winners.has_own
    yield (
        f"{winners.name}: {count} choices at {len(winners.sizes)} sizes; {noise}a switch must gain"
        f" {winners.margin_ppm / 1e4:.1f}%"
    )
    for _, grouped in groupby(range(len(winners.sizes)), key=lambda at: winners.chosen[at]):
        run = list(grouped)
        choice = winners.chosen[run[0]]
        span = f"{format_bytes(winners.sizes[run[0]])} .. {format_bytes(winners.sizes[run[-1]])}"
        yield f"  {span:<22} {choice.name if choice else 'as NCCL does':<18} {_gain(winners, run)}".rstrip()
    if winners.unmatched:
        sizes = ", ".join(format_bytes(size) for size in winners.unmatched[:4]) + ", ..." * (len(winners.unmatched) > 4)
        yield f"  note: NCCL's own choice was not measured at {sizes}: not compared there"
    if not winners.has_own:
        yield (
            "  note: no run in which NCCL chose itself: what the table gains is not known, and it may lose; run once"
            " without NCCL_ALGO and NCCL_PROTO, and give that too (--baseline FILE)"
        )


def _gain(winners: Winners, run: list[int]) -> str:
    """How much less time it takes than NCCL's own choice, or than the next best; empty where that is the same."""
    pairs = [(winners.time_ps[at], winners.other_ps[at]) for at in run]
    gains = [100 * (1 - time / other) for time, other in pairs if other is not None]
    if not gains or winners.chosen[run[0]] is None:
        return ""
    span = f"{min(gains):.1f}%" if len(gains) == 1 else f"{min(gains):.1f}% to {max(gains):.1f}%"
    return f"{span} less time than {'NCCL takes by itself' if winners.has_own else 'the next best'}"


def _rules(rules: list[TunerRule]) -> Iterator[str]:
    for rule in rules:
        span = f"{format_bytes(rule.least)} .. {format_bytes(rule.most or 0)}"
        where = f"{rule.ranks[0]} ranks of {rule.nodes[0]} node{'s' * (rule.nodes[0] > 1)}"
        yield f"{rule.collective:<13} {where:<22} {span:<28} {rule.choice.name if rule.choice else ''}"
