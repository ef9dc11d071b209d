"""Kernels of NCCL that the host's events do not explain: by their own attributes, or by the execution trace alone."""

import re
from collections import defaultdict
from collections.abc import Sequence

from hocket.base.collectives import kind_called
from hocket.chakra.importers.pytorch.issues import Issue, complete
from hocket.chakra.importers.pytorch.kineto import DeviceEvent

__all__ = ["kernels_of_untimed"]

_KIND = re.compile(r"AllReduce|AllGather|ReduceScatter|Broadcast|Reduce|SendRecv")
# What NCCL and PyTorch build from messages.
_OF_MESSAGES = ("send", "recv", "all_to_all", "gather", "scatter")
_MESSAGES = "messages"


def kernels_of_untimed(kernels: Sequence[tuple[int, DeviceEvent]], issues: Sequence[Issue]) -> dict[int, list[Issue]]:
    """What each kernel does, by the index of its event; nothing where nothing tells.

    What a kernel says of itself is the first operation of the execution trace alone that says the same, or an operation
    of its own. Of others the k-th kernel of a kind is the k-th such operation, where there are as many of both.
    """
    waiting = [issue for issue in issues if not issue.is_timed]
    found: dict[int, list[Issue]] = {}
    nameless = []
    for index, event in kernels:
        record = event.record
        if record is None or record.described is None:
            nameless.append((index, event))
            continue
        own = Issue(record, record.described, record.group, record)
        same = next((issue for issue in waiting if _same(issue, own)), None)
        if same is not None:
            waiting.remove(same)
            complete(same, record)
        found[index] = [same or own]
    return found | _by_kind(nameless, waiting)


def _same(issue: Issue, own: Issue) -> bool:
    described, told = issue.described, own.described
    sizes = {described.num_bytes, told.num_bytes} - {-1}
    groups = {issue.group, own.group} - {None}
    return described.kind == told.kind and len(sizes) < 2 and len(groups) < 2


def _by_kind(kernels: Sequence[tuple[int, DeviceEvent]], issues: Sequence[Issue]) -> dict[int, list[Issue]]:
    if len(kernels) == len(issues):
        pairs = list(zip(kernels, issues, strict=True))
        if all(_kind(event.name) in ("", _kind_of(issue)) for (_, event), issue in pairs):
            return {index: [issue] for (index, _), issue in pairs}
    of_kind: dict[str, list[int]] = defaultdict(list)
    for index, event in kernels:
        of_kind[_kind(event.name)].append(index)
    found: dict[int, list[Issue]] = {index: [] for index, _ in kernels}
    for kind, own in of_kind.items():
        alike = [issue for issue in issues if _kind_of(issue) == kind]
        if kind and len(alike) == len(own):
            found |= {index: [issue] for index, issue in zip(own, alike, strict=True)}
    return found


def _kind_of(issue: Issue) -> str:
    return _MESSAGES if issue.described.kind in _OF_MESSAGES else issue.described.kind


def _kind(kernel: str) -> str:
    """What a kernel does by its name; "" where that does not tell."""
    told = _KIND.search(kernel)
    if told is None:
        return ""
    return _MESSAGES if told[0] == "SendRecv" else kind_called(told[0]) or ""
