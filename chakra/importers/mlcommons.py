"""MLCommons' linked traces (chakra_trace_link): an execution trace whose nodes have Kineto's times.

What ran on the device are nodes too, with a category and a stream, copies of the node of the operator that launched
them. When they were launched, and CUDA's calls, are not told.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import msgspec

from hocket.base.errors import FormatError
from hocket.chakra.importers.file_rank import rank_of
from hocket.chakra.importers.files import MALFORMED
from hocket.chakra.importers.json_array import JsonArray
from hocket.chakra.importers.pytorch.calls import Untold
from hocket.chakra.importers.pytorch.execution_trace import (
    HostNode,
    HostRest,
    backends_in,
    check_schema,
    groups_in,
    host_events,
    is_execution_trace,
    named_groups,
    span_event,
)
from hocket.chakra.importers.pytorch.host import ProcessGroup
from hocket.chakra.importers.pytorch.kineto import DEVICE, DeviceEvent, HostOperator, Kineto
from hocket.chakra.importers.pytorch.profile import RankProfile, traces_of
from hocket.chakra.importers.pytorch.world import world_of
from hocket.chakra.importers.rank import Notes, RankTrace
from hocket.chakra.importers.told import NOTHING_TOLD, Told
from hocket.chakra.losses import Loss, Lost

__all__ = ["is_mlcommons", "read_mlcommons"]

# RecordScope::USER_SCOPE of ATen/record_function.h: annotations.
_USER_SCOPE = 7
_LINKED = Untold(
    "a linked trace does not tell", "import the two files that it was linked of, or let hocket collect record it"
)
_Microseconds = Annotated[float, msgspec.Meta(ge=0, le=2.5e15)]


class _Node(HostNode):
    ts: _Microseconds | None = None
    inclusive_dur: Annotated[float, msgspec.Meta(ge=0, le=1e15)] | None = None
    cat: str = ""
    stream: int = 0
    ctrl_deps: int | None = None


def is_mlcommons(head: bytes) -> bool:
    """Whether a file that begins like this is a linked trace: an execution trace with times."""
    return is_execution_trace(head) and b'"inclusive_dur"' in head


def read_mlcommons(paths: Sequence[Path], notes: Notes, told: Told = NOTHING_TOLD) -> list[RankTrace]:
    """The ranks of a job, a file each, whose name tells the rank. Raises FormatError, naming the file, for others."""
    profiles: dict[int, RankProfile] = {}
    for path in paths:
        rank = told.rank if told.rank is not None and len(paths) == 1 else rank_of(path, len(paths))
        if rank in profiles:
            raise FormatError(f"{path}: another file is of rank {rank} already; import one job at a time")
        profiles[rank] = _read(rank, path, notes)
    listed = [group for profile in profiles.values() for group in profile.groups]
    world = world_of(profiles, listed, [told.world])
    world.require_for(paths[0], told)
    return traces_of(profiles, world, notes, told)


def _read(rank: int, path: Path, notes: Notes) -> RankProfile:
    array: JsonArray[_Node, HostRest] = JsonArray(path, "nodes", _Node, HostRest)
    kineto = Kineto()
    groups: dict[str, ProcessGroup] = {}
    backends: dict[str, str] = {}
    seen: set[int] = set()
    for nodes in array.blocks():
        for node in nodes:
            try:
                groups |= {group.name: group for group in groups_in(node)}
                backends |= backends_in(node)
                if node.id not in seen:  # the linker writes some twice
                    _add(kineto, node)
            except MALFORMED as error:
                raise FormatError(f"{path}: node {node.id} '{node.name}': {error}") from error
            seen.add(node.id)
    check_schema(path, array.rest.schema)
    kineto.is_cut = array.is_cut
    if kineto.is_cut:
        loss = Loss(Lost.NODE, "file", "its end: it was cut off")
        notes.lose(rank, loss, f"{path} is cut off: what followed is lost; write it anew for the whole")
    kineto.groups, kineto.events = list(groups.values()), named_groups(kineto.events, backends)
    kineto.events.sort(key=lambda event: (event.start, -event.end))
    kineto.device.sort(key=lambda event: (event.start, event.end))
    return RankProfile(kineto.groups, kineto.events, kineto, source=_LINKED)


def _add(kineto: Kineto, node: _Node) -> None:
    if node.ts is None:
        return
    start = round(node.ts * 1000)
    end = start + round((node.inclusive_dur or 0) * 1000)
    if node.cat in DEVICE:
        kind = node.cat.removeprefix("gpu_")
        parent = -1 if node.ctrl_deps is None else node.ctrl_deps
        kineto.device.append(DeviceEvent(kind, node.name, node.stream, start, end, -1, parent, 0))
        return
    found = [span_event(node)] if node.name.startswith(("gloo:", "nccl:")) else list(host_events(node))
    kineto.events += [replace(event, order=start, start=start, end=end, external=node.id) for event in found]
    told = {attribute.name: attribute.value for attribute in node.attrs}
    if not node.name.startswith(("gloo:", "nccl:")):
        thread = told.get("tid")
        is_annotation = told.get("scope") == _USER_SCOPE
        number = thread if type(thread) is int else 0
        kineto.operations.append(HostOperator(node.name, number, start, end, node.id, is_annotation, None))
