"""Whether verdicts on stragglers hold: how often somebody is named in balanced jobs, and who is late is named.

Run: `python -m hocket.bench.stragglers [--jobs 100] [--real 40] [--resting 100] [--folder DIR]`. Goals: of 100 balanced
jobs at most one names anybody; who is late all the time by 5 % of a step or more, in jobs whose ranks' steps differ by
0.5 %, is named in nine of ten (who is late in few steps is not held to that).

Simulated jobs (`bench/simulated_jobs.py`) differ by seed. In `--stalled` ones of 40 steps one in a hundred pieces of
work lasts longer by four steps in the mean. `--real N` runs as many jobs of two or four processes on gloo
that all have the same to do (`bench/workloads/equal.py`, 150 steps, 450 collectives), every other one with rests in
place of most computation, and then N / 4 in which rank 1 works 20 % longer; on a machine with fewer cores than
processes, or with other work, some of them truly get less time for a while, which the verdict has as starved.
`--resting N` runs N jobs of four processes on gloo that rest alike in place of computing (`bench/resting_jobs.py`):
data parallel ones, pipelines in order 1F1B and grids of TP and DP in turn, 40 steps each; `--resting-late N` as many of
each sort in which one or two rest longer.
`--folder DIR` keeps the real jobs, and takes those that are there as they are. Exit code 1: a goal is missed.
"""

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from hocket.base import processes
from hocket.base.scratch import scratch_folder
from hocket.base.text_table import text_table
from hocket.bench import resting_jobs
from hocket.bench.command_line import command_line
from hocket.bench.simulated_jobs import SimulatedJob, record
from hocket.chakra.job_folders import LATEST, find_job
from hocket.recording.alignment import Shift, align
from hocket.recording.arrivals import Machines
from hocket.recording.folder import stream_paths
from hocket.recording.group_findings import examine_group
from hocket.recording.grouping import group_calls, numbered_groups
from hocket.recording.matching import Numbering
from hocket.recording.messages import find_messages
from hocket.recording.parts.part import Part, PartSection, open_part
from hocket.recording.parts.writing import write_part
from hocket.recording.rank_findings import RankFindings, examine_rank
from hocket.recording.recording import Recording, read_recording
from hocket.recording.stragglers import StragglerVerdict, find_stragglers
from hocket.recording.transfers import message_transfers

__all__ = ["PLANTED", "main", "named", "verdict_in", "verdict_on"]

JOB = Path(__file__).with_name("workloads") / "equal.py"
_LATE = (1,)
_SLOW_MACHINE = (4, 5, 6, 7)
_STAGE = (1, 5, 9, 13)

# Of each job: who is to be named, and the job itself for a share of a step and a jitter.
BALANCED = {
    "4 ranks": SimulatedJob(steps=300),
    "32 ranks, 4 machines": SimulatedJob(ranks=32, machines=4, steps=300),
    "16 ranks, 4 pipelines": SimulatedJob(ranks=16, machines=4, steps=300, pipeline=True),
    "3 ranks, a pipeline": SimulatedJob(ranks=3, steps=300, pipeline=True),
    "4 ranks, 3 groups of all": SimulatedJob(steps=300, repeated=True),
    "16 ranks, 4 x 4": SimulatedJob(ranks=16, steps=300, grid=4),
    "4 ranks, 1F1B": SimulatedJob(steps=300, micro_batches=4),
    "16 ranks, 4 x 1F1B": SimulatedJob(ranks=16, machines=4, steps=300, micro_batches=4),
}
PLANTED = {
    "rank 1 of 4, always": ((("rank", _LATE),), SimulatedJob(steps=300, late=_LATE)),
    "rank 1 of 4, 1 step of 20": ((("rank", _LATE),), SimulatedJob(steps=300, late=_LATE, sporadic=True)),
    "rank 1 of 32": ((("rank", _LATE),), SimulatedJob(ranks=32, machines=4, steps=300, late=_LATE)),
    "rank 1 of 4, 3 groups of all": ((("rank", _LATE),), SimulatedJob(steps=300, late=_LATE, repeated=True)),
    "rank 1 of 16, 4 x 4": ((("rank", _LATE),), SimulatedJob(ranks=16, steps=300, late=_LATE, grid=4)),
    "ranks 1 and 2 of 4": ((("rank", (1,)), ("rank", (2,))), SimulatedJob(steps=300, late=(1, 2))),
    "rank 1 of 4, last 40 %": ((("rank", _LATE),), SimulatedJob(steps=300, late=_LATE, onset=0.6)),
    "rank 1 of 4, 1F1B": ((("rank", _LATE),), SimulatedJob(steps=300, late=_LATE, micro_batches=4)),
    "ranks 1 and 2, 1F1B": (
        (("rank", (1,)), ("rank", (2,))),
        SimulatedJob(steps=300, late=(1, 2), micro_batches=4),
    ),
    "rank 1 of 16, 4 x 1F1B": (
        (("rank", _LATE),),
        SimulatedJob(ranks=16, machines=4, steps=300, late=_LATE, micro_batches=4),
    ),
    "a stage of 4 x 1F1B": (
        (("stage", _STAGE),),
        SimulatedJob(ranks=16, machines=4, steps=300, late=_STAGE, micro_batches=4),
    ),
    "a machine of 4": (
        (("machine", _SLOW_MACHINE),),
        SimulatedJob(ranks=16, machines=4, steps=300, late=_SLOW_MACHINE),
    ),
    "link 5 to 6 of 16": (
        (("link", (5, 6)),),
        SimulatedJob(ranks=16, machines=4, steps=300, pipeline=True, slow_link=5),
    ),
}
# Jobs of few steps in which one in a hundred pieces of work is held up for some steps; who is late by which share.
_STALLING = SimulatedJob(steps=40, stalls=0.01, jitter=0.05)
STALLED = {
    "4 ranks": ((), 0.0, _STALLING),
    "4 ranks, 1F1B": ((), 0.0, replace(_STALLING, micro_batches=4)),
    "rank 1 of 4": ((("rank", _LATE),), 0.1, replace(_STALLING, late=_LATE)),
    "ranks 1 and 2 of 4": ((("rank", (1,)), ("rank", (2,))), 0.2, replace(_STALLING, late=(1, 2))),
    "rank 1 of 4, last half": ((("rank", _LATE),), 0.2, replace(_STALLING, late=_LATE, onset=0.5)),
    "rank 1 of 4, 1F1B": ((("rank", _LATE),), 0.1, replace(_STALLING, late=_LATE, micro_batches=4)),
}
SHARES = (0.02, 0.05, 0.2)
JITTERS = (0.005, 0.02, 0.05)


def main() -> bool:
    parser = command_line()
    parser.add_argument("--jobs", type=int, default=100, help="simulated ones, balanced, of each sort and jitter")
    parser.add_argument("--planted", type=int, default=20, help="simulated ones of each sort, share and jitter")
    parser.add_argument("--stalled", type=int, default=20, help="simulated ones of each sort in which ranks stall")
    parser.add_argument("--real", type=int, default=0, help="jobs of four processes that do alike")
    parser.add_argument("--resting", type=int, default=0, help="jobs of four processes that rest alike")
    parser.add_argument("--resting-late", type=int, default=0, help="such jobs of each sort with who is late")
    parser.add_argument("--folder", type=Path, help="keeps real jobs, or has them")
    chosen = parser.parse_args()
    right = not chosen.jobs or _print_balanced(chosen.jobs)
    right &= not chosen.planted or _print_planted(chosen.planted)
    right &= not chosen.stalled or _print_stalled(chosen.stalled)
    with scratch_folder("bench") as scratch:
        folder = chosen.folder or scratch
        right &= _print_real(folder, chosen.real)
        right &= resting_jobs.study(folder, chosen.resting, chosen.resting_late, verdict_in, named)
    return right


def verdict_on(recordings: list[Recording]) -> StragglerVerdict:
    """What a merge says of them, all of which have calls."""
    with scratch_folder("bench") as folder:
        parts = []
        for recording in recordings:
            path = folder / f"rank{recording.rank}.part"
            write_part(recording, (), path)
            parts.append(open_part(PartSection.whole(path)))
        shifts, clocks = align(parts)
        numbering = numbered_groups(parts)
        machines = Machines(clocks, {part.rank: part.boot for part in parts})
        groups = group_calls(parts, shifts, numbering)
        found = [examine_group(group, machines.of, machines) for group in groups]
        shift_of = {part.rank: shift for part, shift in zip(parts, shifts, strict=True)}
        links = message_transfers(find_messages(parts, numbering), shift_of, machines.of)
        ranks = [_examined(part, shift_of[part.rank], numbering) for part in parts]
        cores = {part.rank: part.head.cores for part in parts if part.head.cores is not None}
        return find_stragglers(ranks, groups, found, links, machines.of, cores)[1]


def _examined(part: Part, shift: Shift, numbering: Numbering) -> RankFindings:
    recording = part.load().shifted(shift)
    return examine_rank(recording, [numbering[shape.group.key][0] for shape in recording.shapes])


def named(verdict: StragglerVerdict) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Who is named: kind and ranks of each, in order."""
    return tuple(sorted((straggler.kind, straggler.ranks) for straggler in verdict.found))


def _print_balanced(jobs: int) -> bool:
    counts = {}
    for name, job in BALANCED.items():
        counts[name] = [sum(bool(named(verdict)) for verdict in _verdicts(job, jitter, jobs)) for jitter in JITTERS]
    rows = [(name, *each) for name, each in counts.items()]
    print(f"balanced: of {jobs} simulated jobs, those in which anybody is named, by jitter")
    print("\n".join(text_table(["job", *(f"{jitter:.1%}" for jitter in JITTERS)], rows)))
    return all(100 * count <= jobs for each in counts.values() for count in each)


def _print_planted(jobs: int) -> bool:
    """The share of jobs in which all who are to be named are, and nobody else."""
    rows, right = [], True
    for name, (expected, job) in PLANTED.items():
        for share in SHARES:
            found = [Counter(named(verdict) for verdict in _verdicts(job, jitter, jobs, share)) for jitter in JITTERS]
            wrong = sum(count for each in found for who, count in each.items() if set(who) - set(expected))
            rows.append((name, f"{share:.0%}", *(each[expected] for each in found), wrong))
            right &= share < 0.05 or job.sporadic or 10 * found[0][expected] >= 9 * jobs
    print(f"\nplanted: of {jobs} simulated jobs, those in which it is named, by jitter; and others, in all three")
    print("\n".join(text_table(["late", "by", *(f"{jitter:.1%}" for jitter in JITTERS), "others"], rows)))
    return right


def _print_stalled(jobs: int) -> bool:
    """Those in which all who are to be named are, and nobody else; and those in which somebody else is."""
    rows = []
    for name, (expected, share, job) in STALLED.items():
        found = [named(verdict) for verdict in _verdicts(job, job.jitter, jobs, share)]
        others = sum(bool(set(who) - set(expected)) for who in found)
        rows.append((name, f"{share:.0%}", found.count(expected), others))
    print(f"\nstalled: of {jobs} simulated jobs with long stalls, those in which who is late is named; and others")
    print("\n".join(text_table(["job", "late by", "right", "others"], rows)))
    return not any(others for *_, others in rows)


def _verdicts(job: SimulatedJob, jitter: float, jobs: int, share: float = 0.0) -> Iterator[StragglerVerdict]:
    for seed in range(jobs):
        values = {"jitter": jitter, "share": share}
        yield verdict_on(record(SimulatedJob(**{**vars(job), **values}), seed))


def _print_real(folder: Path, jobs: int) -> bool:
    balanced = [_real(folder / f"balanced{number}", number, ()) for number in range(jobs)]
    planted = [
        _real(folder / f"late{number}", number, ("--late", "1", "--share", "0.2")) for number in range(jobs // 4)
    ]
    if not jobs:
        return True
    wrong = [verdict for verdict in balanced if named(verdict)]
    starved = [verdict for verdict in balanced if verdict.starved]
    found = sum(named(verdict) == (("rank", _LATE),) for verdict in planted)
    print(f"\nreal: of {jobs} jobs of 2 or 4 processes that do alike, those in which anybody is named: {len(wrong)}")
    print(f"real: of these jobs, those in which somebody was starved of cores: {len(starved)}")
    for verdict in [*wrong, *starved]:
        print("\n".join(verdict.text()))
    print(f"real: of {len(planted)} jobs in which rank 1 works 20 % longer, those in which it alone is named: {found}")
    return 100 * len(wrong) <= max(100, jobs)


def _real(folder: Path, number: int, late: tuple[str, ...]) -> StragglerVerdict:
    """The verdict on a job that runs now, unless it is there."""
    if not (folder / LATEST).exists():
        rests = ("--rounds", "2", "--idle", "0.004") if number % 2 else ("--rounds", "10")
        ranks = "4" if number % 4 < 2 else "2"
        command = [
            sys.executable,
            "-m",
            "hocket",
            "collect",
            "--out",
            str(folder),
            "-n",
            ranks,
            str(JOB),
            *rests,
            *late,
        ]
        processes.run(command, check=True, stdout=subprocess.DEVNULL)
    return verdict_in(folder)


def verdict_in(folder: Path) -> StragglerVerdict:
    """The verdict on the job that a folder has."""
    recordings = map(read_recording, stream_paths(find_job(folder).path))
    return verdict_on(sorted(recordings, key=lambda recording: recording.rank))


if __name__ == "__main__":
    sys.exit(not main())
