"""What the calls in an NCCL profile came to: whether they ended, when, and what moved over the network."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hocket.base.collectives import NAMED_KINDS, nccl_name
from hocket.chakra.importers.dtypes import element_bytes
from hocket.chakra.importers.nccl.profile import (
    COLLECTIVE,
    COPY_COLLECTIVE,
    POINT_TO_POINT,
    PROXY_OPERATION,
    PROXY_STEP,
    RECORD,
    NcclProfile,
)

__all__ = ["KINDS", "CallsDone", "calls_done", "gpu_times_ns", "unfinished"]

Numbers = npt.NDArray[np.int64]
Records = npt.NDArray[np.void]

#: The kinds of collectives by the names of NCCL's functions.
KINDS = {nccl_name(kind): kind for kind in NAMED_KINDS}
# What NCCL's calls are counted by.
_STREAM = np.dtype([(name, RECORD[name].str) for name in ("communicator", "kind", "function", "peer")])
# Of so many calls in a row the one whose end the host saw quickest tells by how much the GPU's timer differs.
_BLOCK = 256


@dataclass(frozen=True, eq=False)
class CallsDone:
    """A process's collectives and messages in the order in which they were enqueued, `records`, and of each:

    `count_bytes` are those of its count of elements, 0 for an unknown datatype. `number` tells the calls of one
    function on one communicator apart: where records were lost it leaves out so many. `ended` says that all of it was
    seen to stop. `gpu_ns` is how long its kernel ran, `gpu_start_ns` when it began by the clock of `start_ns`, `end_ns`
    when the call ended: by the kernel's stop, else the last proxy's. All three are 0 where unknown. `sent_bytes` and
    `received_bytes` went over the network, as far as proxy steps were recorded.
    """

    records: Records
    number: Numbers
    count_bytes: Numbers
    ended: npt.NDArray[np.bool_]
    gpu_ns: Numbers
    gpu_start_ns: Numbers
    end_ns: Numbers
    sent_bytes: Numbers
    received_bytes: Numbers

    def __len__(self) -> int:
        return len(self.records)

    def function(self, row: int) -> str:
        return str(self.records["function"][row].decode(errors="replace"))

    def attributes(self, row: int) -> Mapping[str, int | str]:
        """What NCCL chose and did, as attributes of a trace's node; what is not known is not there."""
        record = self.records[row]
        texts = {"algorithm": "algorithm", "protocol": "protocol", "kernel": "variant"}
        found: dict[str, int | str] = {
            f"nccl_{name}": record[field].decode(errors="replace") for name, field in texts.items() if record[field]
        }
        numbers = {"channels": record["channels"], "user_tag": record["user_tag"], "gpu_ns": self.gpu_ns[row]}
        numbers |= {"sent_bytes": self.sent_bytes[row], "received_bytes": self.received_bytes[row]}
        found |= {f"nccl_{name}": int(number) for name, number in numbers.items() if number}
        if self.gpu_ns[row]:
            found["nccl_queued_ns"] = max(0, int(self.gpu_start_ns[row] - record["start_ns"]))
        return found


def calls_done(profile: NcclProfile) -> CallsDone:
    """The calls of a process."""
    records = profile.select(COLLECTIVE | POINT_TO_POINT | COPY_COLLECTIVE)
    records = records[np.argsort(records["start_ns"], kind="stable")]
    ended = (records["stop_ns"] > 0) & (records["children_started"] == records["children_stopped"])
    gpu_ns = np.where(ended, gpu_times_ns(records), 0)
    gpu_start_ns = _on_host_clock(records, gpu_ns)
    proxy_end = np.where(ended, records["end_ns"], 0)
    sent, received = _transferred(profile, records)
    names, of_name = np.unique(records["datatype"], return_inverse=True)
    sizes = [element_bytes(name.decode(errors="replace").removeprefix("nccl")) for name in names.tolist()]
    # A count that no memory holds is a damaged record's.
    count = np.minimum(records["count"], 2**56).astype(np.int64)
    return CallsDone(
        records=records,
        number=_numbered(records),
        count_bytes=count * np.array(sizes, np.int64)[of_name] if len(records) else count,
        ended=ended,
        gpu_ns=gpu_ns,
        gpu_start_ns=gpu_start_ns,
        end_ns=np.where(gpu_ns > 0, gpu_start_ns + gpu_ns, proxy_end),
        sent_bytes=sent,
        received_bytes=received,
    )


def gpu_times_ns(records: Records) -> Numbers:
    """How long each call took by the GPU's timer, from its first kernel channel's start to its last one's stop; 0 where
    that was not recorded."""
    times = (records["gpu_stop_ns"] - records["gpu_start_ns"]).astype(np.int64)
    known: Numbers = np.where((records["gpu_start_ns"] > 0) & (times > 0), times, 0)
    return known


def unfinished(records: Records) -> Records:
    """Those that were not stopped, or have children that were not: where a job that hung stood."""
    found: Records = records[(records["stop_ns"] == 0) | (records["children_started"] != records["children_stopped"])]
    return found


def _on_host_clock(records: Records, gpu_ns: Numbers) -> Numbers:
    """When the kernels began by the host's clock; 0 where that is not known.

    The GPU's timer has a zero of its own. The host sees that a kernel stopped a little after it did; the quickest of
    many calls tells the difference of the two, wrong by how long that one took to be seen.
    """
    found = np.zeros(len(records), np.int64)
    timed = np.flatnonzero((gpu_ns > 0) & (records["end_ns"] > 0))
    if len(timed) == 0:
        return found
    ahead = records["gpu_stop_ns"][timed].astype(np.int64) - records["end_ns"][timed]
    blocks = np.arange(0, len(timed), _BLOCK)
    offsets = np.maximum.reduceat(ahead, blocks)[np.arange(len(timed)) // _BLOCK]
    found[timed] = records["gpu_start_ns"][timed].astype(np.int64) - offsets
    return found


def _numbered(records: Records) -> Numbers:
    """NCCL counts the calls of a function on a communicator, except those that a CUDA graph repeats: these have the
    number of the next one. Messages and copies are not counted so; they are numbered in their order."""
    keys = np.empty(len(records), _STREAM)
    for field in _STREAM.names or ():
        keys[field] = records[field]
    keys["peer"][records["kind"] != POINT_TO_POINT] = 0
    _, stream = np.unique(keys.view(f"V{_STREAM.itemsize}"), return_inverse=True)  # as bytes, which sort quickly
    order = np.argsort(stream, kind="stable")
    sequence = np.minimum(records["sequence"][order], 2**32).astype(np.int64)
    counted = records["kind"][order] == COLLECTIVE
    first = np.concatenate([[True], stream[order][1:] != stream[order][:-1]])[: len(order)]
    steps = np.ones(len(order), np.int64)
    steps[1:] = np.where(counted[1:], np.maximum(np.diff(sequence), 1), 1)
    steps[first] = np.where(counted[first], sequence[first], 0)
    total = np.cumsum(steps)
    begins = np.flatnonzero(first)
    lengths = np.diff(np.append(begins, len(order)))
    number = np.empty(len(order), np.int64)
    number[order] = total - np.repeat(total[begins] - steps[begins], lengths)
    return number


def _transferred(profile: NcclProfile, calls: Records) -> tuple[Numbers, Numbers]:
    """Bytes that each call's proxies sent and received."""
    totals = np.zeros((2, len(calls)), np.int64)
    operations, steps = profile.select(PROXY_OPERATION), profile.select(PROXY_STEP)
    order = np.argsort(calls["number"])
    at_operation = _rows_of(steps["parent"], operations["number"])
    of_step, known = at_operation[at_operation >= 0], at_operation >= 0
    at_call = _rows_of(operations["parent"], calls["number"][order])[of_step]
    whole = at_call >= 0
    way = np.where(operations["warps"][of_step] > 0, 0, 1)[whole]
    moved = np.minimum(steps["bytes"][known][whole], 2**40).astype(np.int64)
    np.add.at(totals, (way, order[at_call[whole]]), moved)
    return totals[0], totals[1]


def _rows_of(parents: npt.NDArray[np.uint64], numbers: Numbers) -> Numbers:
    """Where among ascending numbers of records each parent is; -1 where it is not."""
    wanted = parents.astype(np.int64) - 1
    at = np.searchsorted(numbers, wanted)
    inside = at < len(numbers)
    found = np.full(len(wanted), -1, np.int64)
    found[inside] = np.where(numbers[at[inside]] == wanted[inside], at[inside], -1)
    return found
