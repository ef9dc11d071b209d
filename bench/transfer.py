"""How well public tables predict NCCL's times on machines, node counts and sizes that were left out of them.

Run: python -m hocket.bench.transfer [--write]     (--write: the prior that Hocket ships, from all tables)

Every number is of rows that nothing had seen: the prior is trained on the other machines alone, its weights and the
stretch of its intervals too, by leaving out each of these in turn. A machine is one user's table. Errors are
|predicted / measured - 1|: median and 90th percentile above 1 MiB; the same up to it. `holds`: the share of rows within
the 90 % interval, in the mean over curves. `NCCL` is its model as it is, `scaled` its times by a factor from the known
rows, straight in the logarithm of the size between them.
"""

from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from hocket.base.files import write_file
from hocket.bench.command_line import command_line
from hocket.calibration import transfer
from hocket.calibration.transfer.features import Observed
from hocket.calibration.transfer.prior import KIN, LARGE, MEASURED, Prior, prior_json
from hocket.calibration.transfer.scaling import scaled_us
from hocket.calibration.transfer.training import anchored, train

__all__ = ["main"]

_Floats = NDArray[np.float64]

RANGE = 256 << 20
"""Bytes beyond which sizes are left out."""


@dataclass(frozen=True, eq=False)
class Held:
    """Rows of a curve that were left out: predicted times (us), which of them the interval holds, what the baselines
    say."""

    rows: Observed
    situation: str
    time_us: _Floats
    held: NDArray[np.bool_]
    nccl_us: _Floats
    scaled_us: _Floats | None = None

    @classmethod
    def of(cls, rows: Observed, prior: Prior, own: transfer.Fit | None, known: Observed | None = None) -> "Held":
        predicted = prior.predict(rows.features, own)
        low, high = predicted.within
        place = rows.features.place
        return cls(
            rows,
            MEASURED if own else prior.situation(place),
            predicted.time_us,
            (low <= rows.time_us) & (rows.time_us <= high),
            rows.features.expected_us,
            scaled_us(known, rows.features) if known else None,
        )


def machines_left_out(own: Sequence[Observed], prior: Prior) -> Iterator[Held]:
    for curve in own:
        yield Held.of(curve, prior, None)


def two_rows_known(own: Sequence[Observed], prior: Prior) -> Iterator[Held]:
    pairs = anchored(own)
    fit = prior.adapted([known for known, _ in pairs]) if pairs else None
    for known, rest in pairs:
        yield Held.of(rest, prior, fit, known)


def nodes_left_out(own: Sequence[Observed], prior: Prior) -> Iterator[Held]:
    for nodes in sorted({curve.features.place.nodes for curve in own}):
        others = [curve for curve in own if curve.features.place.nodes != nodes]
        fit = prior.adapted(others) if others else None
        for curve in own:
            if curve.features.place.nodes == nodes and fit:
                yield Held.of(curve, prior, fit)


def beyond_the_range(own: Sequence[Observed], prior: Prior) -> Iterator[Held]:
    for curve in own:
        large = curve.features.size_bytes > RANGE
        if (~large).sum() >= 4 and large.any():
            known = curve.at(~large)
            yield Held.of(curve.at(large), prior, prior.adapted([known]), known)


TASKS: dict[str, Callable[[Sequence[Observed], Prior], Iterator[Held]]] = {
    "machines left out": machines_left_out,
    "node counts left out": nodes_left_out,
    "two rows known (8 KiB, 1 GiB)": two_rows_known,
    "beyond 256 MiB": beyond_the_range,
}


def main(write: bool) -> None:
    tables = [table for table in transfer.public_tables() if not table.left_out]
    curves = [curve for table in tables for curve in table.observed()]
    if write:
        path = Path(transfer.__file__).with_name("prior.json")
        write_file(path, prior_json(train(curves), [table.name for table in tables]))
        print(f"wrote {path.name}: {len(curves)} curves of {len(tables)} machines")
        return
    found: dict[str, list[Held]] = {task: [] for task in TASKS}
    for machine in dict.fromkeys(curve.features.place.machine for curve in curves):
        prior = train([curve for curve in curves if curve.features.place.machine != machine])
        own = [curve for curve in curves if curve.features.place.machine == machine]
        for task, hold in TASKS.items():
            found[task] += hold(own, prior)
    console = Console(width=170, highlight=False)
    console.print("median / 90th percentile above 1 MiB; up to 1 MiB, in %", summary(found), by_machine(found))


def summary(found: dict[str, list[Held]]) -> Table:
    """A row a task; of machines left out, also those of a kind that was seen, for all_reduce."""
    table = Table("left out", "curves", "predicted", "holds", "NCCL", "scaled")
    tasks = dict(found)
    kin = [each for each in found["machines left out"] if _is_plain(each)]
    tasks["  of these all_reduce, InfiniBand or RoCE, generation seen"] = kin
    for task, held in tasks.items():
        table.add_row(task, str(len(held)), *cells(held))
    return table


def by_machine(found: dict[str, list[Held]]) -> Table:
    """The machines left out, with two rows known, and with all but one of their node counts."""
    table = Table("machine", "situation", "left out", "holds", "NCCL", "two rows known", "holds", "scaled", "nodes")
    for machine in dict.fromkeys(each.rows.features.place.machine for each in found["machines left out"]):
        out, two, nodes = (
            [each for each in found[task] if each.rows.features.place.machine == machine]
            for task in ("machines left out", "two rows known (8 KiB, 1 GiB)", "node counts left out")
        )
        situation = " and ".join(dict.fromkeys(each.situation for each in out))
        predicted, holds, nccl, _ = cells(out)
        known, known_holds, _, by_scale = cells(two) if two else ("-",) * 4
        table.add_row(machine, situation, predicted, holds, nccl, known, known_holds, by_scale, cells(nodes)[0])
    return table


def cells(held: Sequence[Held]) -> tuple[str, str, str, str]:
    """PredictedTimes, holds, NCCL, scaled."""
    if not held:
        return ("-",) * 4
    holds = f"{100 * np.mean([each.held.mean() for each in held]):.0f}"
    factors = [each.scaled_us for each in held if each.scaled_us is not None]
    by_scale = errors(held, factors) if len(factors) == len(held) else "-"
    return (
        errors(held, [each.time_us for each in held]),
        holds,
        errors(held, [each.nccl_us for each in held]),
        by_scale,
    )


def errors(held: Sequence[Held], times: Sequence[_Floats]) -> str:
    off = np.concatenate([np.abs(time / each.rows.time_us - 1) for each, time in zip(held, times, strict=True)])
    large = np.concatenate([each.rows.features.size_bytes for each in held]) > LARGE
    return f"{_pair(off[large])} ; {_pair(off[~large])}"


def _pair(off: _Floats) -> str:
    return f"{100 * np.median(off):.1f}/{100 * np.quantile(off, 0.9):.0f}" if len(off) else "-"


def _is_plain(held: Held) -> bool:
    place = held.rows.features.place
    return place.kind == "all_reduce" and place.fabric == "InfiniBand or RoCE" and held.situation == KIN


def options() -> ArgumentParser:
    parser = command_line()
    parser.add_argument("--write", action="store_true", help="write the prior that Hocket ships")
    return parser


if __name__ == "__main__":
    main(options().parse_args().write)
