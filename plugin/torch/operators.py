"""A rank's operators out of the profile beside its stream, on the recording's threads and clock."""

from collections import Counter, defaultdict
from pathlib import Path

import numpy as np

from hocket.chakra.importers.lanes import Operator
from hocket.chakra.importers.pytorch.host import What
from hocket.chakra.importers.pytorch.host_trace import operators
from hocket.chakra.importers.pytorch.kineto import Kineto, Operation, read_kineto
from hocket.core.errors import FormatError
from hocket.plugin.torch.recording import Recording

__all__ = ["read_operators"]


def read_operators(path: Path, recording: Recording, aligned: Recording) -> dict[int, list[Operator]]:
    """By thread, in order, the operators of Kineto's profile of a rank, with the times of `aligned`.

    The collector's calls lie within the profiler's `c10d::` operations: they tell which thread is which. Raises
    FormatError, naming the file, for one that is absent, cut off, no profile, or of another run.
    """
    kineto = read_kineto(path)
    if kineto.is_cut:
        raise FormatError(f"{path}: it is cut off")
    offset = kineto.base - (recording.meta.epoch_ns - recording.meta.perf_ns)
    threads = _threads(kineto, recording, offset)
    if not threads:
        raise FormatError(f"{path}: not of this run: it has none of the rank's calls")
    starts, shifted = recording.columns.start, aligned.columns.start
    by_thread: dict[int, list[Operation]] = defaultdict(list)
    for operation in kineto.operations:
        if operation.thread in threads:
            by_thread[operation.thread].append(operation)
    found = {}
    for thread, operations in by_thread.items():
        operations.sort(key=lambda operation: (operation.start, -operation.end))
        chosen = list(operators(operations))
        times = np.array([(operator.start, operator.end) for operator in chosen], np.int64).reshape(-1, 2) + offset
        at = np.searchsorted(starts, times).clip(max=len(starts) - 1)
        times += shifted[at] - starts[at]
        found[threads[thread]] = [
            Operator(operator.name, int(begin), int(end), threads[thread], operator.num_ops, operator.tensor_bytes)
            for operator, (begin, end) in zip(chosen, times, strict=True)
        ]
    return found


def _threads(kineto: Kineto, recording: Recording, offset: int) -> dict[int, int]:
    """The recording's name of each of the profile's threads that issued calls."""
    starts = recording.columns.start
    names: dict[int, Counter[int]] = defaultdict(Counter)
    for event in kineto.events:
        if event.what is What.CALL:
            first, behind = np.searchsorted(starts, (event.start + offset, event.end + offset))
            names[event.thread].update(recording.columns.thread[first:behind].tolist())
    return {thread: counted.most_common(1)[0][0] for thread, counted in names.items() if counted}
