"""Published training steps beside predicted ones, and how far off predictions are for machines and models left out.

Run: python -m hocket.bench.published_steps [--rows]
Rows: `bench/published/step_times.csv` (README.md beside it says where each comes from); of NeMo's those of the newest
release for each model and GPU. Steps are folded to one rank a pipeline stage (`bench/published/folded.py`).
"""

import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from hocket.bench.command_line import command_line
from hocket.bench.published.fitted import Case, Slowness, fit, prior
from hocket.bench.published.folded import KINDS
from hocket.bench.published.rows import Job, newest, read_rows

# Watts of a GPU from the vendors' data sheets, over TFLOP/s at BF16; 0: not published.
WATTS = {
    "A100": 400 / 312, "A100 80GB": 400 / 312, "A100 40GB": 400 / 312, "A100 (Selene)": 400 / 312,
    "H100": 700 / 989, "H100 80GB": 700 / 989, "H100 96GB HBM2e 500W": 500 / 989, "H200": 700 / 989,
    "B200": 1000 / 2250, "B300": 1100 / 2250, "GB200": 1200 / 2500, "GB300": 1400 / 2500,
    "MI300X (page: MI300)": 750 / 1307, "MI355X (page: MI355)": 1400 / 2500,
}  # fmt: skip
_ROUNDS = 3


def main() -> None:
    parser = command_line()
    parser.add_argument("--rows", action="store_true", help="print every row, predicted and published")
    options = parser.parse_args()
    jobs, left = read_rows()
    chosen = list(newest(jobs))
    print(f"{len(jobs)} of {len(jobs) + len(left)} rows can be compared; {len(chosen)} are of the newest release")
    for reason, count in Counter(reason for _, reason in left).most_common():
        print(f"  {count:3} left out: {reason}")
    cases = [Case.of(job, WATTS.get(job.gpu, 0.0)) for job in chosen]
    whole = _fitted(cases)
    print("\nslowness over the price, fitted to all rows:")
    for kind, value in zip((*KINDS, "power of watts"), [*np.exp(whole.logarithms[:-1]), whole.power], strict=True):
        print(f"  {kind:<20} {value:6.2f}")
    priced = {case.job.row: case.seconds(prior()) for case in cases}
    machine = _held_out(cases, lambda job: job.chip)
    model = _held_out(cases, lambda job: job.model)
    fitted = {case.job.row: case.seconds(whole) for case in cases}
    columns = {"before the fit": priced, "fitted": fitted, "machine out": machine, "model out": model}
    _print_errors(cases, columns)
    if options.rows:
        _print_rows(cases, columns)


def _fitted(cases: Sequence[Case]) -> Slowness:
    """The fit, once more with the paths that are longest at its result."""
    found = fit(cases)
    for _ in range(_ROUNDS):
        for case in cases:
            case.seconds(found)
        found = fit(cases)
    return found


def _held_out(cases: Sequence[Case], by: Callable[[Job], str]) -> dict[int, float]:
    """Each row predicted by what was fitted to the others' machines, or models, alone."""
    found: dict[int, float] = {}
    for one in sorted({by(case.job) for case in cases}):
        slowness = fit([case for case in cases if by(case.job) != one])
        found |= {case.job.row: case.seconds(slowness) for case in cases if by(case.job) == one}
    return found


def _print_errors(cases: Sequence[Case], columns: dict[str, dict[int, float]]) -> None:
    print(f"\n{'median / 90th of the error in %':<34}" + "".join(f"{name:>17}" for name in columns))
    for name, group in _groups(cases):
        texts = []
        for predicted in columns.values():
            errors = [100 * abs(predicted[case.job.row] / case.job.seconds - 1) for case in group]
            texts.append(f"{np.median(errors):.1f} / {np.percentile(errors, 90):.1f}")
        print(f"{name:<28} {len(group):>4} " + "".join(f"{text:>17}" for text in texts))


def _groups(cases: Sequence[Case]) -> Iterator[tuple[str, list[Case]]]:
    """All dense, all MoE, then each machine's and each model's."""
    for name, moe in (("dense", False), ("MoE", True)):
        yield f"{name}, all", [case for case in cases if case.job.is_moe == moe]
        for stack in sorted({case.job.stack for case in cases}):
            if found := [case for case in cases if case.job.stack == stack and case.job.is_moe == moe]:
                yield f"  {stack}", found
        for gpu in sorted({case.job.gpu for case in cases}):
            if found := [case for case in cases if case.job.gpu == gpu and case.job.is_moe == moe]:
                yield f"  {gpu}", found
        for model in sorted({case.job.model for case in cases}):
            if found := [case for case in cases if case.job.model == model and case.job.is_moe == moe]:
                yield f"  {model}", found


def _print_rows(cases: Sequence[Case], columns: dict[str, dict[int, float]]) -> None:
    print(
        f"\n{'row':>4} {'model':<16} {'GPU':<21} {'GPUs':>5} {'precision':<12} {'published':>10}"
        + "".join(f"{name:>15}" for name in columns)
    )
    for case in cases:
        job = case.job
        print(
            f"{job.row:>4} {job.model:<16} {job.gpu:<21} {job.plan.num_ranks:>5} {job.plan.precision:<12}"
            f" {job.seconds:>8.3f} s"
            + "".join(f"{predicted[job.row] / job.seconds:>15.2f}" for predicted in columns.values())
        )


if __name__ == "__main__":
    warnings.simplefilter("error")
    main()
