"""Public profiles of one rank each: how long they took, and how long a simulation of them takes.

Run: python -m hocket.bench.public_profiles [FOLDER]     ($HOCKET_PUBLIC_PROFILES)

`recorded`: from the first node of the trace that `hocket trace import` makes to the end of the last. `replayed`: that
trace simulated alone, its communication taking the time that it took in the recording: what streams and waits make of
the recorded durations. `simulated`: the job that `hocket trace complete` makes of it, on its machine: communication as
predicted, without the waits for other ranks that it had in the recording. Of the recording, overlaps counted once:
`computation`; `communication`, which is predicted; `unsized`, communication of unknown size.
"""

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from hocket.base import processes
from hocket.base.scratch import scratch_folder
from hocket.bench.command_line import command_line
from hocket.chakra import NodeType, Trace, TraceSet, read_trace
from hocket.chakra.profiled import HOST, is_unsized, unsized
from hocket.simulator import simulate_traces
from hocket.simulator.intervals import covered_ps
from hocket.topology import load

__all__ = ["PROFILES", "Profile", "recorded_ns", "replayed_ns"]

_HTA = "facebookresearch+HolisticTraceAnalysis/tests/data"
_LENS = "AMD-AGI+TraceLens/tests/traces"


@dataclass(frozen=True)
class Profile:
    """A file, the rank and the ranks of its job, its operations of communication, the machine it is simulated on, and
    what an import has to be told."""

    file: str
    rank: int
    ranks: int
    communications: int
    machine: str
    told: str = ""


PROFILES = (
    Profile(f"{_HTA}/nccl_parser_config/nccl_data.json.gz", 0, 2, 21, "dgx-a100:gpus=2"),
    Profile(f"{_HTA}/trace_diff/control/control.json.gz", 3, 8, 60, "dgx-a100"),
    Profile(f"{_HTA}/trace_diff/test/test.json.gz", 1, 2, 60, "dgx-1:gpus=2"),
    Profile(
        f"{_HTA}/df_index_resolver/df_index_resolver.json.gz", 1, 2, 2020, "dgx-1:gpus=2", "--size all_reduce=4MiB"
    ),
    Profile(
        f"{_HTA}/negative_queue_length_values_check/rank0.json.gz",
        *(0, 16, 83, "dgx-a100:nodes=2"),
        "--group reduce_scatter=8 --group all_gather=8",
    ),
    Profile(f"{_HTA}/trace_filter/sampled_rank-0.json.gz", 0, 128, 10, "dgx-a100:nodes=16", "--group all_gather=64"),
    Profile(f"{_LENS}/b200/eager_trace.json.gz", 0, 8, 74, "dgx-b200"),
    Profile(f"{_LENS}/mi300/resnet_act_checkpoint.json.gz", 0, 8, 12, "mi300x"),
    # 8 dispatches, 8 combines, and what ranks wait for each other in before each of them
    Profile(
        "deepseek-ai+profile-data/train.json",
        *(0, 64, 32, "dgx-h800:nodes=8"),
        "--size dispatch=28MiB --size combine=56MiB",
    ),
)


def recorded_ns(trace: Trace) -> int:
    """From the first node's begin to the last one's end."""
    start = trace.start_us.astype(np.int64) * 1000
    return int((start + trace.duration_ns).max() - start.min())


def replayed_ns(trace: Trace) -> int:
    """How long the trace's rank takes alone, its communication as long as recorded."""
    communicates = trace.type >= NodeType.COMM_SEND
    name = np.where(communicates, len(trace.strings), trace.name).astype(np.int32)
    kind = np.where(communicates, NodeType.COMP, trace.type).astype(np.uint8)
    alone = replace(trace, type=kind, name=name, strings=(*trace.strings, unsized("as recorded")))
    return simulate_traces(TraceSet((alone,)), load("ring:2,bandwidth=1GB/s,latency=1us")).time_ps // 1000


def _covered_ms(trace: Trace) -> Iterator[float]:
    """What computation, communication and such of unknown size cover of the recording."""
    computes = trace.type == NodeType.COMP
    unknown = computes & np.array([is_unsized(text) for text in trace.strings])[trace.name]
    on_host = np.array([text == HOST for text in trace.strings])[trace.name]
    for kind in (computes & ~unknown & ~on_host, trace.type >= NodeType.COMM_SEND, unknown):
        rows = np.flatnonzero(kind)
        start = trace.start_us[rows].astype(np.int64) * 1000
        covered = covered_ps(np.zeros(len(rows), np.int32), start, start + trace.duration_ns[rows], 1)
        yield float(covered[0]) / 1e6


def _hocket(*arguments: object) -> None:
    command = [sys.executable, "-m", "hocket", *map(str, arguments)]
    processes.run(command, check=True, capture_output=True, text=True)


def _row(profile: Profile, folder: Path) -> Iterator[str]:
    with scratch_folder("profiles") as scratch:
        _hocket("trace", "import", folder / profile.file, *profile.told.split(), "-o", scratch / "one")
        _hocket("trace", "complete", scratch / "one", "-o", scratch / "job")
        _hocket("simulate", scratch / "job", "-t", profile.machine, "--json", scratch / "found.json")
        trace = read_trace(scratch / f"one/trace.{profile.rank}.et")
        found: dict[str, Any] = json.loads((scratch / "found.json").read_text(encoding="utf-8"))
    recorded = recorded_ns(trace) / 1e6
    yield Path(profile.file).name
    yield f"{recorded:.2f} ms"
    for time in (replayed_ns(trace) / 1e6, found["time_ps"] / 1e9):
        yield f"{time:.2f} ms ({100 * (time / recorded - 1):+.1f} %)"
    yield from (f"{covered:.2f} ms" for covered in _covered_ms(trace))


def main() -> None:
    """Prints the table."""
    parser = command_line()
    parser.add_argument("folder", nargs="?", type=Path, default=os.environ.get("HOCKET_PUBLIC_PROFILES"))
    folder = parser.parse_args().folder
    if folder is None:
        parser.error("name the folder of the profiles")
    print("| profile | recorded | replayed | simulated | computation | communication | unsized |")
    print("|---|---|---|---|---|---|---|")
    for profile in PROFILES:
        if (Path(folder) / profile.file).is_file():
            print(f"| {' | '.join(_row(profile, Path(folder)))} |", flush=True)


if __name__ == "__main__":
    main()
