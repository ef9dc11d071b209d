"""Turns the ranks' streams into execution traces, one a rank, and a summary.

Each stream becomes a part on disk; then a group's collectives are looked at some at a time, and a rank's calls written
as its trace. Memory holds one rank's calls, or a block of a group's, for each process that works, and the ranks' heads.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

from hocket.base.files import put_in_place, together, write_file, write_json
from hocket.chakra import write_trace
from hocket.chakra.groups import FILE_NAMES, write_groups
from hocket.chakra.trace import Trace
from hocket.recording.alignment import SAME, align
from hocket.recording.arrivals import Machines
from hocket.recording.collection import Collection, collect_parts
from hocket.recording.cutting import RecordingCutter, shortened
from hocket.recording.devices import joined_devices
from hocket.recording.folder import merged_files
from hocket.recording.group_calls import CELLS
from hocket.recording.group_findings import GroupFindings, examine_group
from hocket.recording.grouping import group_calls, numbered_groups
from hocket.recording.matching import Numbering
from hocket.recording.messages import MessageTraffic, disagreements, find_messages, new_tags
from hocket.recording.mismatch import Mismatch
from hocket.recording.nccl.profiles import offered_files, untimed
from hocket.recording.parts.part import PartSection, open_part
from hocket.recording.parts.writing import write_part
from hocket.recording.pinning import window_folder
from hocket.recording.profiles import Profiles, read_profiles
from hocket.recording.rank_findings import RankFindings
from hocket.recording.rank_trace import TracePlan, write_rank
from hocket.recording.stragglers import find_stragglers
from hocket.recording.stream_lines import CoresLine
from hocket.recording.summary import RecordingSummary, summarize
from hocket.recording.tables import render
from hocket.recording.transfers import message_transfers
from hocket.recording.work import Tell, each, untold
from hocket.recording.workspace import Workspace

__all__ = ["merge"]


def merge(
    folder: Path | str,
    kineto: Path | None = None,
    nccl: Path | None = None,
    part: str = "",
    *,
    others: Sequence[Path] = (),
    output: Path | None = None,
    jobs: int = 1,
    tell: Tell = untold,
    cells: int = CELLS,
) -> RecordingSummary:
    """Writes `trace.<rank>.et` of every rank that recorded something, comm_groups.json, summary.txt and summary.json.

    The ranks' profiles, those of `--ops` or in the file or folder `kineto`, and those of NCCL in the folder `nccl` are
    joined in (`profiles.read_profiles`); with any of them memory holds all ranks' calls.
    Traces of one window of steps, `part`, go into a folder of its own (`windows/<part>`), also while the job runs. The
    folders `others` have the same job's streams of other nodes. All is written to `output`, if that is given.
    Works on what there is: the summary tells which ranks are missing or did not end. `jobs` processes work on it,
    `tell` hears how far it is, `cells` as in `GroupCalls.blocks`: no result depends on them. A merge that was killed
    goes on from what it left in the folder `merging`, as far as the streams are what they were.

    Raises FormatError when there is no stream, a line of one is broken, or no rank recorded a collective; when a rank
    is in two of the folders, or they are of several jobs.
    """
    folder = Path(folder)
    target = output or (window_folder(folder, part) if part else folder)
    workspace = Workspace(target)
    parts = collect_parts([folder, *others], part, workspace, jobs, tell)
    shifts, clocks = align(parts)
    homes = {rank.rank: Path(rank.head.path).parent.parent if others or output else target for rank in parts}
    job, profiles = _with_profiles(Collection(parts, shifts), homes, workspace, kineto, nccl)
    numbering = numbered_groups(job.parts)
    machines = Machines(clocks, {part.rank: part.boot for part in job.parts if len(part)})
    groups = group_calls(job.parts, job.shifts, numbering)
    examine = partial(examine_group, recorded=list(machines.of), machines=machines, cells=cells)
    found = list(each(examine, groups, jobs, tell, "groups looked at"))
    messages = find_messages(job.parts, numbering)
    cutter = RecordingCutter(job.parts)
    if any(group.lacks_partners for group in found) or any(map(MessageTraffic.lacks_partners, messages)):
        cutter.cut(groups, messages)
    plans = _plans(job, numbering, cutter.kept, found, messages, profiles)
    workspace.begin_traces(None if profiles.joined else [part.head.sources for part in job.parts])
    ranks = [*_write_traces(plans, _device_traces(plans, numbering, profiles), workspace, jobs, tell)]
    problems = [*_problems(job, found, ranks, messages), *profiles.problems]
    links = message_transfers(messages, {part.rank: shift for part, shift in job.shifted()}, machines.of)
    late = find_stragglers(ranks, groups, found, links, machines.of, _cores(job))
    summary = summarize(job.parts, numbering, found, ranks, problems, clocks, cutter.cuts(), profiles.nccl, *late)
    _publish(target, workspace, numbering, summary)
    return summary


def _cores(job: Collection) -> dict[int, CoresLine]:
    """What the ranks with calls had of their hosts' cores, as far as they tell."""
    return {part.rank: part.head.cores for part in job.parts if len(part) and part.head.cores is not None}


def _with_profiles(
    job: Collection, homes: Mapping[int, Path], workspace: Workspace, kineto: Path | None, nccl: Path | None
) -> tuple[Collection, Profiles]:
    """The ranks' profiles, where there are some; and the job, where NCCL's tell when calls were complete, with that, on
    the job's clock already. `homes` is the folder of each rank."""
    operators = any(part.head.no_operators is not None for part in job.parts)
    if kineto is None and nccl is None and not operators and not offered_files(homes, job.parts):
        return job, Profiles(problems=untimed(job.parts))
    recordings = job.recordings()
    profiles = read_profiles(homes, recordings, [part.load() for part in job.parts], kineto, nccl)
    parts, shifts = list(job.parts), list(job.shifts)
    for at, recording in enumerate(recordings):
        if recording.rank in profiles.nccl:
            path = workspace.joined_path(recording.rank)
            write_part(profiles.nccl[recording.rank].timed_calls(recording), parts[at].head.sources, path)
            parts[at], shifts[at] = open_part(PartSection.whole(path)), SAME
    return Collection(parts, shifts), profiles


def _plans(
    job: Collection,
    numbering: Numbering,
    kept: Mapping[int, int],
    found: Sequence[GroupFindings],
    messages: Sequence[MessageTraffic],
    profiles: Profiles,
) -> list[TracePlan]:
    """How the trace of each rank with calls is made."""
    present = [(part, shift) for part, shift in job.shifted() if len(part)]
    retagged = new_tags(messages)
    scattered = {group.number: group.scattered for group in found if len(group.scattered[0])}
    origin = min(part.begin(shift) for part, shift in present)
    plans = []
    for part, shift in present:
        own = {group.key: numbering[group.key] for group in part.head.groups}
        numbers = {number for number, _ in own.values()}
        plans.append(
            TracePlan(
                rank=part.rank,
                section=part.section,
                shift=shift,
                numbering=own,
                kept=kept[part.rank],
                retagged=retagged.get(part.rank, ()),
                scattered={number: sent for number, sent in scattered.items() if number in numbers},
                origin=origin,
                operators=profiles.operators.get(part.rank, {}),
                chosen={} if part.rank not in profiles.nccl else profiles.nccl[part.rank].attributes,
            )
        )
    return plans


def _device_traces(plans: Sequence[TracePlan], numbering: Numbering, profiles: Profiles) -> dict[int, Trace]:
    """The traces of what devices did, where profiles have it; `profiles` hears what they lack."""
    if not profiles.devices:
        return {}
    recordings = [plan.load() for plan in plans]
    named = {plan.rank: plan.sizes_and_tags(recording) for plan, recording in zip(plans, recordings, strict=True)}
    cut = [shortened(recording, plan.kept) for plan, recording in zip(plans, recordings, strict=True)]
    sizes, tags = ({rank: own[at] for rank, own in named.items()} for at in (0, 1))
    chosen = {plan.rank: plan.chosen for plan in plans}
    devices, told = joined_devices(profiles.devices, cut, numbering, sizes, tags, chosen)
    profiles.problems += told
    traces = [devices[plan.rank] for plan in plans] if devices else []
    return {
        plan.rank: replace(trace, metadata=trace.metadata | plan.metadata(recording))
        for plan, recording, trace in zip(plans, recordings, traces, strict=False)
    }


@dataclass(frozen=True, eq=False)
class _Task:
    plan: TracePlan
    path: Path | None


def _write(task: _Task) -> RankFindings:
    return write_rank(task.plan, task.path)


def _write_traces(
    plans: Sequence[TracePlan], devices: Mapping[int, Trace], workspace: Workspace, jobs: int, tell: Tell
) -> Iterator[RankFindings]:
    """Writes the traces that are not there, those of `devices` as they are; what was found of the ranks, in order."""
    known = {plan.rank: workspace.known_findings(plan.rank) for plan in plans}
    tasks = [
        _Task(plan, None if plan.rank in devices else workspace.trace_path(plan.rank))
        for plan in plans
        if known[plan.rank] is None
    ]
    for found in each(_write, tasks, jobs, tell, "traces written"):
        if found.rank in devices:
            write_trace(workspace.trace_path(found.rank), devices[found.rank])
        workspace.finish_trace(found)
        known[found.rank] = found
    yield from (found for found in known.values() if found is not None)


def _problems(
    job: Collection, found: Sequence[GroupFindings], ranks: Sequence[RankFindings], messages: Sequence[MessageTraffic]
) -> Iterator[Mismatch]:
    """Everything on which the ranks disagree, and what streams lost."""
    for part in job.parts:
        for error in part.head.errors:
            yield Mismatch("not recorded", f"rank {part.rank}: {error}")
        for lost in part.head.lost:
            yield Mismatch("lost", f"rank {part.rank}: {lost}")
    for group in found:
        yield from group.mismatches
    for rank in ranks:
        yield from rank.unreceived
    yield from disagreements(messages)
    worst = max(found, key=lambda group: group.residual_ns, default=None)
    if worst is not None and worst.residual_ns:
        message = f"{worst.residual_place} ended {worst.residual_ns} ns before its last rank began"
        yield Mismatch("clock", message)


def _publish(folder: Path, workspace: Workspace, numbering: Numbering, summary: RecordingSummary) -> None:
    """Gives the traces their names, all at once, and writes what is said of them."""
    stale = {path for path in merged_files(folder) if path.suffix == ".et"}  # of an earlier job, with more ranks maybe
    with together():
        for row in summary.ranks:
            path = folder / f"trace.{row.rank}.et"
            put_in_place(workspace.trace_path(row.rank), path)
            stale.discard(path)
        groups = {str(number): group.ranks for number, group in numbering.values() if number}
        write_groups(folder / FILE_NAMES[0], groups)
        write_json(folder / "summary.json", asdict(summary))
        write_file(folder / "summary.txt", render(summary))
    for path in stale:
        path.unlink()
    workspace.remove()
