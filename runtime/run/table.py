"""The measured rows in nccl-tests' column layout."""

from collections.abc import Iterable

from hocket.runtime.run.job import Result, Row, RunTask
from hocket.schedule.collective import Collective

__all__ = ["bandwidths", "format_footer", "format_header", "format_row", "format_table"]


def bandwidths(task: RunTask, size_bytes: int, result: Result) -> tuple[float, float]:
    """algbw and busbw in bytes per second."""
    algorithm = size_bytes * 10**12 / result.time_ps
    return algorithm, algorithm * _collective(task, size_bytes).bus_factor


def format_header() -> str:
    """nccl-tests' three header lines."""
    names = f"{'time':>7}  {'algbw':>6}  {'busbw':>6} {'#wrong':>6}"
    units = f"{'(us)':>7}  {'(GB/s)':>6}  {'(GB/s)':>6}  {'':>5}"
    return "\n".join(
        [
            f"# {'':50}           out-of-place                       in-place          ",
            f"# {'size':>10}  {'count':>12}  {'type':>8}  {'redop':>6}  {'root':>6}  {names}  {names}",
            f"# {'(B)':>10}  {'(elements)':>12}  {'':>8}  {'':>6}  {'':>6}  {units}  {units}",
        ]
    )


def format_row(task: RunTask, row: Row) -> str:
    """One line; `N/A` under the way that no program serves."""
    collective = _collective(task, row.size_bytes)
    op = task.op if collective.reducing else "none"
    root = collective.root if collective.rooted else -1
    cells = [f"{row.size_bytes:>12}", f"{row.count:>12}", f"{task.elements.nccl_name:>8}", f"{op:>6}", f"{root:>6}"]
    cells += [_format_result(task, row.size_bytes, result) for result in (row.out_of_place, row.in_place)]
    return "  ".join(cells)


def format_footer(task: RunTask, rows: Iterable[Row]) -> str:
    """The verdict over all rows and the mean busbw."""
    rows = list(rows)
    wrong = sum(row.wrong for row in rows)
    measured = [(row.size_bytes, result) for row in rows for result in (row.out_of_place, row.in_place) if result]
    mean = sum(bandwidths(task, size, result)[1] for size, result in measured) / len(measured)
    return (
        f"# Out of bounds values : {wrong} {'FAILED' if wrong else 'OK'}\n# Avg bus bandwidth    : {mean / 10**9:g} \n#"
    )


def format_table(task: RunTask, rows: Iterable[Row]) -> str:
    """Header, rows and footer."""
    rows = list(rows)
    return "\n".join([format_header(), *(format_row(task, row) for row in rows), format_footer(task, rows)])


def _collective(task: RunTask, size_bytes: int) -> Collective:
    return Collective(task.kind, task.num_ranks, size_bytes, root=task.root)


def _format_result(task: RunTask, size_bytes: int, result: Result | None) -> str:
    if result is None:
        return f"{'N/A':>7}  {'N/A':>6}  {'N/A':>6}  {'N/A':>5}"
    microseconds = result.time_ps / 10**6
    digits = 0 if microseconds >= 10000 else 1 if microseconds >= 100 else 2
    algorithm, bus = (bandwidth / 10**9 for bandwidth in bandwidths(task, size_bytes, result))
    return f"{microseconds:>7.{digits}f}  {algorithm:>6.2f}  {bus:>6.2f}  {result.wrong:>5}"
