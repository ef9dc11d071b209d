"""The page of a recorded job beside its prediction."""

from collections.abc import Sequence

from hocket.base.units import format_bytes_apart, format_time
from hocket.report.charts import Axis, Chart, Series, xy_chart
from hocket.report.page import Block, Cards, Figure, Page, Section, Table, Text
from hocket.report.validation_facts import ErrorFacts, ValidationFacts

__all__ = ["NO_HELD_OUT_STEPS", "sizes_of", "validation_content"]

_MOST_ROWS = 40
NO_HELD_OUT_STEPS = "no step error: the traces tell no steps, and the whole job has the fitted calls in it"
_OF_WHAT = "absolute error of a sort's median, sorts counted by their calls"


def sizes_of(both: Sequence[tuple[int, int]]) -> list[str]:
    """The size of each row, as nccl-tests counts it, or the smallest and the largest of those taken together."""
    texts = format_bytes_apart([size for pair in both for size in pair])
    return [" to ".join(dict.fromkeys(texts[size] for size in pair)) for pair in both]


def validation_content(found: ValidationFacts) -> Page:
    """What is on the page."""
    plain, before, after = found.predicted, found.not_fitted_predicted, found.not_fitted_corrected
    cards = [("Steps", f"{plain.step_error:+.1%}", "predicted over recorded")] if plain.step_error is not None else []
    for name, error in (("Collectives, median", plain.median_error), ("90th percentile", plain.p90_error)):
        if error is not None:
            cards.append((name, f"{error:.1%}", _OF_WHAT))
    if before and after:
        cards += _held_out(before, after)
    sections = [Section("Summary", [Cards(cards)])]
    if plain.collectives:
        blocks: list[Block] = [
            Figure(
                _scatter(plain, after),
                "Each dot is a sort of collective, the larger the more time it took in all; on the line the"
                " prediction is what was recorded. The bar is the recording's noise, one standard deviation each way.",
            ),
            _table(plain),
            *_left_out(plain.near, "rows"),
        ]
        sections.append(Section("Collectives", blocks))
    sections.append(Section("Steps", [_steps(plain), *_left_out(plain.steps, "steps")]))
    remarks = [*found.assumed, *found.notes]
    if after and not after.steps:
        remarks.insert(0, NO_HELD_OUT_STEPS)
    if remarks:
        sections.append(Section("Assumed, and notes", [Text(remark) for remark in remarks]))
    return Page("Predicted against recorded", f"{found.ranks} ranks, as on {found.topology}", sections)


def _held_out(before: ErrorFacts, after: ErrorFacts) -> list[tuple[str, str, str]]:
    """What is left of the errors of the part that was not fitted to."""
    pairs = (
        ("Steps, corrected", before.step_error, after.step_error, "+"),
        ("Collectives, corrected", before.median_error, after.median_error, ""),
    )
    return [
        (name, f"{last:{sign}.1%}", f"from {first:{sign}.1%}, not fitted to")
        for name, first, last, sign in pairs
        if first is not None and last is not None
    ]


def _scatter(plain: ErrorFacts, after: ErrorFacts | None) -> Chart:
    times = [time for each in plain.collectives for time in (each.recorded_ps, each.predicted_ps) if time > 0]
    ends = [min(times, default=1) / 2e6, max(times, default=1) * 2 / 1e6]
    series = [Series("as recorded", ends, ends, "soft", dots=False, thin=True)]
    shown = [("as predicted", plain, "c1")]
    if after:
        shown.append(("corrected, of the other steps", after, "c0"))
    for name, found, color in shown:
        rows = found.collectives
        longest = max((each.count * each.recorded_ps for each in rows), default=1)
        series.append(
            Series(
                name,
                [each.recorded_ps / 1e6 for each in rows],
                [each.predicted_ps / 1e6 for each in rows],
                color,
                line=False,
                sizes=[6 + 18 * (each.count * each.recorded_ps / longest) ** 0.5 for each in rows],
                spread=[(each.noise or 0.0) * each.recorded_ps / 1e6 for each in rows],
                tips=[
                    f"{each.count} x {each.kind}, {each.size_bytes} B: recorded"
                    f" {format_time(each.recorded_ps)}, predicted {format_time(each.predicted_ps)}, {each.error:+.1%}"
                    for each in rows
                ],
            )
        )
    across, up = Axis("recorded, microseconds", log=True), Axis("predicted, microseconds", log=True)
    return xy_chart(series, across, up, "predicted over recorded times of collectives", height=460)


def _table(found: ErrorFacts) -> Table:
    shown = found.near[:_MOST_ROWS]
    sizes = sizes_of([(each.size_bytes, each.largest_bytes) for each in shown])
    rows = [
        [
            f"{each.count}",
            each.kind,
            f"{each.dimension}",
            f"{each.ranks}",
            size,
            each.algorithm,
            format_time(each.recorded_ps),
            format_time(each.predicted_ps),
            f"{each.error:+.1%}",
            "-" if each.noise is None else f"{each.noise:.1%}",
            each.because,
        ]
        for each, size in zip(shown, sizes, strict=True)
    ]
    heads = [
        "calls",
        "collective",
        "dimension",
        "ranks",
        "size",
        "algorithm",
        "recorded",
        "predicted",
        "error",
        "noise",
    ]
    return Table([*heads, "what explains it"], rows)


def _left_out(rows: Sequence[object], what: str) -> list[Text]:
    """How many rows are not in a table; nothing where all are."""
    more = len(rows) - _MOST_ROWS
    return [Text(f"and {more} more {what}; hocket validate --json has all of them")] if more > 0 else []


def _steps(found: ErrorFacts) -> Table:
    rows = [
        [
            str(each.step) if each.step >= 0 else "all",
            format_time(each.recorded_ps),
            format_time(each.predicted_ps),
            f"{each.error:+.1%}",
            format_time(each.recorded_exposed_ps),
            format_time(each.predicted_exposed_ps),
        ]
        for each in found.steps[:_MOST_ROWS]
    ]
    return Table(["step", "recorded", "predicted", "error", "not computing, recorded", "predicted"], rows)
