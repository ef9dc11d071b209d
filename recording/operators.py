"""A rank's operators out of its profile, on the recording's threads and clock."""

from collections import defaultdict

import numpy as np

from hocket.chakra.importers.lanes import Operator
from hocket.chakra.importers.pytorch.host_trace import operators
from hocket.chakra.importers.pytorch.kineto import HostOperator
from hocket.recording.profile import RecordedProfile

__all__ = ["operators_of"]


def operators_of(profile: RecordedProfile) -> dict[int, list[Operator]]:
    """By thread, in order, the operators of a rank's profile."""
    by_thread: dict[int, list[HostOperator]] = defaultdict(list)
    for operation in profile.kineto.operations:
        if operation.thread in profile.threads:
            by_thread[operation.thread].append(operation)
    found = {}
    for number, operations in by_thread.items():
        operations.sort(key=lambda operation: (operation.start, -operation.end))
        chosen = list(operators(operations))
        times = profile.on_job_clock(np.array([(operator.start, operator.end) for operator in chosen], np.int64))
        thread = profile.threads[number]
        found[thread] = [
            Operator(operator.name, int(begin), int(end), thread, operator.num_ops, operator.tensor_bytes)
            for operator, (begin, end) in zip(chosen, times.reshape(-1, 2), strict=True)
        ]
    return found
