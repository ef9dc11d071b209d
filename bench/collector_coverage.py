"""Whether every collective of small workloads of every kind is recorded, and whether their traces are right.

Run: `python -m hocket.bench.collector_coverage [--hook python] [--compiler inductor] [--out DIR] [--json FILE]`, with
the Python whose PyTorch is asked about. Four processes run `hocket.bench.workloads.job` under the collector. For each
workload the table tells how many calls of all ranks PyTorch's profiler saw, how many were recorded, and what is wrong
with the step's trace: by `hocket trace validate` and by the rules of MLCommons' feeder (mlcommons); and of what `hocket
trace convert` makes of it for ASTRA-sim by those of its feeder (astra-sim). The last row is all that was
recorded, the steps between included; below it is what the conversion changed. Exit code 1: something is wrong.
"""

import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

from hocket.base import processes
from hocket.base.errors import HocketError
from hocket.base.files import atomic_write, write_json
from hocket.base.scratch import scratch_folder
from hocket.bench.command_line import command_line
from hocket.bench.feeder_rules import check_astra_sim, check_mlcommons
from hocket.chakra import Trace, read_traces, write_traces
from hocket.chakra.astra_sim import violations
from hocket.chakra.groups import FILE_NAMES, write_groups
from hocket.chakra.job_folders import find_job
from hocket.chakra.reading import TraceFiles
from hocket.chakra.slicing import TraceSelection, slice_traces
from hocket.chakra.validate import validate
from hocket.chakra.writing import write_blocks
from hocket.recording.folder import stream_path
from hocket.recording.recording import read_recording
from hocket.recording.settings import variable

__all__ = ["main"]

RANKS = 4
FINDINGS = 3  # of a workload and profile, printed
JOB = Path(__file__).with_name("workloads") / "job.py"


@dataclass(frozen=True)
class Check:
    """What is wrong with a job's traces, in either profile, and what was changed for ASTRA-sim (in words: count)."""

    mlcommons: list[str]
    astra_sim: list[str]
    changes: Counter[str]


def collect(folder: Path, hook: str, compiler: str) -> None:
    """Runs the workloads under the collector. Raises HocketError when they fail."""
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={RANKS}"]
    variables = {variable("hook"): hook, "WORKLOADS_COMPILER": compiler}
    command = [*torchrun, "-m", "hocket.collect", "--out", str(folder), str(JOB), str(folder)]
    with atomic_write(folder / "log.txt", "wb") as log:
        done = processes.run(command, env=os.environ | variables, stdout=log, stderr=log)
    if done.returncode:
        raise HocketError(
            f"{folder / 'log.txt'}: the job failed, exit code {done.returncode}; name a folder with --out"
        )


def recorded_by_step(folder: Path) -> dict[int, list[Counter[str]]]:
    """The recorded operations of each step, a counter per rank."""
    found: dict[int, list[Counter[str]]] = {}
    for rank in range(RANKS):
        recording = read_recording(stream_path(find_job(folder).path, rank))
        for step, shape in zip(recording.columns.step.tolist(), recording.columns.shape.tolist(), strict=True):
            counters = found.setdefault(step, [Counter() for _ in range(RANKS)])
            counters[rank][f"c10d::{recording.shapes[shape].op}"] += 1
    return found


def cut(folder: Path, step: int, part: Path) -> None:
    """Writes the traces of one step."""

    def write(rank: int, blocks: Iterable[Trace]) -> int:
        return write_blocks(part / f"trace.{rank}.et", blocks)

    groups, _ = slice_traces(TraceFiles.of_job(folder), TraceSelection(steps=(step, step + 1)), write)
    write_groups(part / FILE_NAMES[0], groups)


def check(folder: Path, astra: Path) -> Check:
    """Checks the traces of a folder, and what is written to `astra` of them."""
    traces = read_traces(folder)
    mlcommons = [*map(str, validate(traces)), *broken_rules(check_mlcommons, find_job(folder).path)]
    changes = write_traces(astra, traces, profile="astra-sim")
    written = read_traces(astra)
    astra_sim = [*map(str, validate(written)), *map(str, violations(written)), *broken_rules(check_astra_sim, astra)]
    return Check(mlcommons, astra_sim, changes)


def broken_rules(rules: Callable[[Path], None], folder: Path) -> list[str]:
    """The first rule that the traces of a folder break, if any."""
    try:
        rules(folder)
    except AssertionError as error:
        return [str(error)]
    return []


def main(hook: str, compiler: str, out: Path, result: Path | None) -> bool:
    """Collects into `out`, prints the table and says whether everything is right; `result` gets it as JSON."""
    collect(out, hook, compiler)
    counts = [json.loads((out / f"counts.{rank}.json").read_text()) for rank in range(RANKS)]
    recorded = recorded_by_step(out)
    table = Table("workload", "profiler", "recorded", "mlcommons", "astra-sim", box=None)
    wrong: list[str] = []
    calls = Counter[str]()

    def add(name: str, expected: list[Counter[str]], found: list[Counter[str]], folder: Path) -> Check:
        checked = check(folder, folder / "astra-sim")
        if expected != found:
            wrong.append(f"{name}: the profiler saw {expected}, recorded are {found}")
        for findings in (checked.mlcommons, checked.astra_sim):
            wrong.extend(f"{name}: {finding}" for finding in findings[:FINDINGS])
        verdicts = [
            f"{len(findings)} errors" if findings else "ok" for findings in (checked.mlcommons, checked.astra_sim)
        ]
        table.add_row(name, *(str(sum(map(Counter.total, counters))) for counters in (expected, found)), *verdicts)
        return checked

    for number, name in enumerate(counts[0]):
        step = 2 + 2 * number
        cut(out, step, out / "steps" / name)
        expected = [Counter(of_rank[name]) for of_rank in counts]
        add(name, expected, recorded[step], out / "steps" / name)
        calls["seen"] += sum(map(Counter.total, expected))
        calls["recorded"] += sum(map(Counter.total, recorded[step]))
    all_calls = [sum((counters[rank] for counters in recorded.values()), Counter()) for rank in range(RANKS)]
    whole = add("all", all_calls, all_calls, out)
    console = Console(width=120)
    console.print(f"PyTorch {torch.__version__}, hook {hook}, calls of {RANKS} ranks")
    console.print(table)
    for change, count in sorted(whole.changes.items()):
        if count:
            console.print(f"for ASTRA-sim: {count} x {change}")
    for line in wrong:
        console.print(f"wrong: {line}", markup=False)
    if result is not None:
        write_json(result, {"torch": torch.__version__, "hook": hook, **calls, "wrong": wrong})
    return not wrong


if __name__ == "__main__":
    parser = command_line()
    parser.add_argument("--hook", default="native", choices=("native", "python"))
    parser.add_argument("--compiler", default="inductor", help="torch.compile's backend, such as aot_eager")
    parser.add_argument("--out", type=Path, help="folder that keeps what was collected (default: none does)")
    parser.add_argument("--json", type=Path, help="file for `torch`, `hook`, calls `seen` and `recorded`, and `wrong`")
    arguments = parser.parse_args()
    with scratch_folder("bench") as folder:
        is_right = main(arguments.hook, arguments.compiler, arguments.out or folder, arguments.json)
    sys.exit(not is_right)
