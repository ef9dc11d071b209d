"""The page of a sweep over jobs: which are worth choosing, where the time of each goes, and which were skipped."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from hocket.base.units import format_bytes, format_time
from hocket.report.charts import Axis, Bar, BarPart, Chart, Mark, Series, bar_chart, time_axis, xy_chart
from hocket.report.figures import SERIES
from hocket.report.page import Block, Cards, Code, Details, Figure, Section, Table, Text, render
from hocket.report.part_colors import part_colors
from hocket.report.sweep_rows import ALIKE, job_columns
from hocket.simulator.analysis import JobOutcome, StepPart, SweptJob, SweptJobs

__all__ = ["sweep_page"]

_MOST_BARS = 24
_MOST_POINTS = 2000
_SYMBOLS = ("dot", "square", "diamond", "triangle", "ring")
_Value = Callable[[SweptJob], float]


def sweep_page(jobs: SweptJobs, plots: Sequence[Section] = ()) -> str:
    """The page as HTML text; `plots` are what its file asks for beside the rest."""
    numbers: list[Block] = [Cards([*_cards(jobs)])]
    if unlike := [*jobs.unlike]:
        numbers += [Text(sentence) for sentence in (*unlike, f"{ALIKE[0].upper()}{ALIKE[1:]}.")]
    sections = [Section("Summary", numbers)]
    sections += plots
    if jobs.rivals:
        sections += [
            Section("The best of each topology", [*_best(jobs)]),
            Section("Speed against memory", [*_memory(jobs)]),
            Section("Time against ranks", [*_scale(jobs)]),
        ]
    if jobs.done:
        sections += [
            Section("Where the time goes", [*_division(jobs)]),
            Section("Every point", [*_points(jobs)]),
        ]
    if jobs.skipped:
        sections.append(Section("Skipped", [*_skipped(jobs)]))
    topologies = dict.fromkeys(job.topology for job in jobs.jobs)
    trained = dict.fromkeys(job.what for job in jobs.jobs)
    return render("A sweep over jobs", f"{', '.join(trained)} on {', '.join(topologies)}", sections)


def _cards(jobs: SweptJobs) -> Iterator[tuple[str, str, str]]:
    yield "Points", f"{len(jobs.jobs):,}", f"{len(jobs.done):,} simulated"
    for reason, skipped in jobs.skipped.items():
        yield "Skipped", f"{len(skipped):,}", reason.words
    for job in [*jobs.best][:4]:
        rate = "" if job.outcome.tokens_per_second is None else f", {job.outcome.rate:,.1f} tokens/s per rank"
        yield f"{job.what} on {job.topology}", format_time(round(job.outcome.step_ps)), f"{job.name}{rate}"


def _best(jobs: SweptJobs) -> Iterator[Block]:
    yield _table([*jobs.best])
    yield Text("Of each model on each topology the plan with the most tokens a second that fits its memory.")


def _table(jobs: Sequence[SweptJob]) -> Table:
    columns = job_columns(jobs)
    return Table(
        [column.head for column in columns],
        [[column.cell(job) for column in columns] for job in jobs],
        [[column.key(job) for column in columns] for job in jobs],
    )


def _hover(job: SweptJob) -> str:
    outcome = job.outcome
    used = "" if outcome.utilisation is None else f"\nMFU {outcome.utilisation:.1%}"
    return f"point {job.number}: {job.what} on {job.topology}\n{job.name}\n{_whole(outcome)}{used}"


def _whole(outcome: JobOutcome) -> str:
    memory = f", {format_bytes(outcome.memory_bytes)}" if outcome.memory_bytes else ""
    rate = "" if outcome.tokens_per_second is None else f", {outcome.rate:,.1f} tokens/s per rank"
    return f"{format_time(round(outcome.step_ps))}{rate}{memory}"


def _dots(name: str, jobs: Sequence[SweptJob], x: _Value, y: _Value, color: str, **look: Any) -> Series:
    """A dot a job; a click on it opens what is said of it."""
    places = ([x(job) for job in jobs], [y(job) for job in jobs])
    said, opens = [_hover(job) for job in jobs], [_anchor(job) for job in jobs]
    return Series(name, *places, color, line=False, tips=said, opens=opens, **look)


def _gib(job: SweptJob) -> float:
    return job.outcome.memory_bytes / 2**30


def _rate(job: SweptJob) -> float:
    return job.outcome.rate


def _memory(jobs: SweptJobs) -> Iterator[Block]:
    """Speed against memory, with the Pareto set of each model and topology as a line."""
    shown = {key: [job for job in rivals if job.outcome.memory_bytes] for key, rivals in jobs.rivals.items()}
    if not any(shown.values()):
        yield Text("The traces do not say how much memory they need.")
        return
    series = []
    for at, ((what, topology), rivals) in enumerate(shown.items()):
        color, symbol = SERIES[at % len(SERIES)], _SYMBOLS[at % len(_SYMBOLS)]
        best = [job for job in rivals if job.number in jobs.pareto]
        name = f"{what} on {topology}"
        line = sorted((_gib(job), _rate(job)) for job in best)
        places = ([gib for gib, _ in line], [rate for _, rate in line])
        series.append(Series("", *places, color, dots=False, thin=True, steps=True))
        series.append(_dots(name, [job for job in rivals if job not in best], _gib, _rate, color, faint=True))
        series.append(_dots(f"{name}, Pareto set", best, _gib, _rate, color, symbol=symbol, sizes=[11.0] * len(best)))
    over = [job for job in jobs.done if not job.outcome.fits]
    if over:
        series.append(_dots("over the memory", over, _gib, _rate, "c7", symbol="cross", sizes=[8.0] * len(over)))
    capacities = sorted({(job.outcome.accelerator, job.outcome.capacity_bytes) for job in jobs.done})
    verticals = [(capacity / 2**30, name) for name, capacity in capacities if capacity]
    across, up = Axis("memory of the fullest rank, GiB", from_zero=True), Axis("tokens/s per rank", from_zero=True)
    yield Figure(
        xy_chart(series, across, up, "tokens per second over memory", height=480, verticals=verticals),
        "Each dot is a point of the sweep; a click opens it below. On the line are those that no other of the same"
        " model and topology beats in speed with as little memory; the dotted line is what an accelerator has.",
    )
    yield _table([job for rivals in shown.values() for job in rivals if job.number in jobs.pareto])


def _scale(jobs: SweptJobs) -> Iterator[Block]:
    """Steps against the number of ranks, over all topologies."""
    series = []
    trained: dict[str, list[SweptJob]] = {}
    for (what, _), rivals in jobs.rivals.items():
        trained.setdefault(what, []).extend(rivals)
    for at, (what, rivals) in enumerate(trained.items()):
        color = SERIES[at % len(SERIES)]
        fastest: dict[int, SweptJob] = {}
        for job in sorted(rivals, key=lambda job: (job.outcome.step_ps, job.number)):
            fastest.setdefault(job.outcome.ranks, job)
        best = [fastest[ranks] for ranks in sorted(fastest)]
        places = ([_ranks(job) for job in best], [_seconds(job) for job in best])
        series.append(Series("", *places, color, dots=False, thin=True))
        series.append(_dots(what, [job for job in rivals if job not in best], _ranks, _seconds, color, faint=True))
        series.append(_dots(f"{what}, the fastest", best, _ranks, _seconds, color, sizes=[11.0] * len(best)))
    across, up = Axis("ranks", from_zero=True), Axis("step, seconds", from_zero=True)
    yield Figure(
        xy_chart(series, across, up, "step over ranks", height=420),
        "All topologies together; the line joins the fastest at each number of ranks. Steps are comparable where they"
        " have the same batch.",
    )


def _ranks(job: SweptJob) -> float:
    return job.outcome.ranks


def _seconds(job: SweptJob) -> float:
    return job.outcome.step_ps / 1e12


def _division(jobs: SweptJobs) -> Iterator[Block]:
    """The parts of each step, a figure for each model and topology, the fastest first."""
    over = [job for job in jobs.done if not job.outcome.fits]
    keys = dict.fromkeys([*jobs.rivals, *((job.what, job.topology) for job in over)])
    for what, topology in keys:
        ordered = [*jobs.rivals.get((what, topology), ())]
        ordered += [job for job in over if (job.what, job.topology) == (what, topology)]
        shown = ordered[:_MOST_BARS]
        left = f" {len(ordered) - len(shown)} slower ones are not drawn." if len(shown) < len(ordered) else ""
        yield Figure(_bars(jobs, shown), f"{what} on {topology}.{left}")
    yield Text(
        "How a rank's step divides, mean over the ranks; the parts add up to the step. No schedule of these"
        " communications is faster than the mark. A click opens the point below."
    )


def _bars(jobs: SweptJobs, shown: Sequence[SweptJob]) -> Chart:
    colors = part_colors(jobs.parts)
    bars = []
    for job in shown:
        times = {part: _time(job.outcome, part) for part in colors}
        parts = [BarPart(part.name, time, f"{part.name} {_ps(time)}\n{_hover(job)}") for part, time in times.items()]
        bound = Mark(job.outcome.bound_ps, f"lower bound {_ps(job.outcome.bound_ps)}")
        bars.append(Bar(f"{job.number}: {job.name}", parts, bound, opens=_anchor(job)))
    longest = max((job.outcome.step_ps for job in shown), default=0)
    named = {part.name: color for part, color in colors.items()}
    return bar_chart(bars, time_axis(longest), named, "how the steps divide", mark="lower bound")


def _time(outcome: JobOutcome, part: StepPart) -> float:
    return next((each.mean_ps for each in outcome.parts if each.part == part), 0.0)


def _points(jobs: SweptJobs) -> Iterator[Block]:
    shown = jobs.done[:_MOST_POINTS]
    yield _table(shown)
    if len(shown) < len(jobs.done):
        yield Text(f"{len(jobs.done) - len(shown):,} more are in results.csv.")
    yield from (_details(job) for job in shown)


def _details(job: SweptJob) -> Details:
    """The contents of a step report of the point."""
    outcome = job.outcome
    whole = max(outcome.step_ps, 1)
    parts = [
        [
            each.part.name,
            *map(_ps, (each.mean_ps,)),
            f"{each.mean_ps / whole:.1%}",
            _ps(each.least_ps),
            _ps(each.most_ps),
        ]
        for each in outcome.parts
    ]
    parts.append(["whole", _ps(outcome.step_ps), "100.0%", "", ""])
    dimensions = [
        [
            each.dimension,
            _ps(each.communication_ps),
            f"{1 - each.exposed_ps / max(each.communication_ps, 1):.1%}",
            _ps(each.exposed_ps),
        ]
        for each in outcome.dimensions
    ]
    blocks: list[Block] = [Table(["time per rank and step", "mean", "share", "min", "max"], parts)]
    if dimensions:
        blocks.append(Table(["dimension", "communication", "overlapped", "not overlapped"], dimensions))
    blocks += [
        Text(f"Imbalance {outcome.imbalance:.1%}: the longest computation of a rank over the mean."),
        *(Text(f"Assumed: {each}") for each in outcome.assumed),
        *(Text(each) for each in outcome.notes),
        Text("The whole step report, with what would shorten it:"),
        Code("\n".join(job.commands)),
    ]
    return Details(f"{job.number}: {job.what} on {job.topology}, {job.name}: {_whole(outcome)}", blocks, _anchor(job))


def _ps(time_ps: float) -> str:
    return format_time(round(time_ps))


def _anchor(job: SweptJob) -> str:
    return f"point{job.number}"


def _skipped(jobs: SweptJobs) -> Iterator[Block]:
    for reason, skipped in jobs.skipped.items():
        rows = [[str(job.number), job.what, job.topology, job.name, job.outcome.skipped] for job in skipped]
        keys: list[list[float | str]] = [[job.number, *row[1:]] for job, row in zip(skipped, rows, strict=True)]
        count = f"{len(skipped):,} point{'s' * (len(skipped) != 1)}"
        table = Table(["point", "job", "topology", "plan", "why"], rows[:_MOST_POINTS], keys[:_MOST_POINTS])
        yield Details(f"{reason.words}: {count}, such as: {skipped[0].outcome.skipped}", [table])
