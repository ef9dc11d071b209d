"""Which step of the job each node of a trace belongs to: as its metadata tells, else as names of nodes mark it."""

import re
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import TraceError
from hocket.chakra.trace import Trace

__all__ = [
    "NO_STEP",
    "has_step_metadata",
    "is_step_mark",
    "step_fault",
    "step_metadata",
    "step_of_nodes",
]

NO_STEP = -1
_NUMBERS, _BEGINS = "step_numbers", "step_begins"
_MARK = re.compile(r"(?:ProfilerStep|[Ss]tep)[ _#]?([0-9]{1,18})")


def step_metadata(begins: Sequence[tuple[int, int]]) -> dict[str, object]:
    """Metadata that tells the steps of a trace: `begins` has each step's number (NO_STEP: what belongs to none) and the
    least id of its nodes, ascending in the ids. All nodes from there to the next step's least id are the step's, so
    leaving nodes out does not change it. Nothing where there is no step."""
    if all(number == NO_STEP for number, _ in begins):
        return {}
    return {_NUMBERS: [number for number, _ in begins], _BEGINS: [begin for _, begin in begins]}


def step_fault(metadata: Mapping[str, object]) -> str | None:
    """What is wrong with the steps in a trace's metadata, which must be a list of numbers and one of ascending ids."""
    told: list[list[int]] = []
    for name in (_NUMBERS, _BEGINS):
        value = metadata.get(name, [])
        if not isinstance(value, list) or not all(type(item) is int and NO_STEP <= item < 2**63 for item in value):
            return f"{name} is {value!r}, expected a list of integers"
        told.append(value)
    numbers, begins = told
    if len(begins) != len(numbers) or begins != sorted(set(begins)) or NO_STEP in begins:
        return f"{_BEGINS} is {begins!r}, expected ascending node ids, one for each of the {_NUMBERS}"
    return None


def is_step_mark(name: str) -> bool:
    """Whether a node of this name begins a step, such as ProfilerStep#3."""
    return _marked(name) != NO_STEP


def has_step_metadata(trace: Trace) -> bool:
    """Whether the metadata tells the steps: then each block of the trace knows its own."""
    return bool(trace.metadata.get(_NUMBERS))


def step_of_nodes(trace: Trace, source: str) -> NDArray[np.int64]:
    """The number of each row's step (int64, n), NO_STEP where there is none.

    Without metadata (`step_metadata`) a node named `ProfilerStep#3` (PyTorch's profiler) or `step 3` begins step 3: it
    and the nodes after it, in ascending id, up to the next such node; nodes before the first are part of the first
    step. Raises TraceError, naming `source`, where the metadata is faulty (`step_fault`).
    """
    if fault := step_fault(trace.metadata):
        raise TraceError(f"{source}: metadata: {fault}")
    if has_step_metadata(trace):
        numbers = np.array(trace.metadata[_NUMBERS], np.int64)
        begins = np.array(trace.metadata[_BEGINS], np.uint64)
        before_first = NO_STEP
    else:
        number_of = np.array([_marked(text) for text in trace.strings] or [NO_STEP], np.int64)
        number = number_of[trace.name]
        marks = np.flatnonzero(number != NO_STEP)
        marks = marks[np.argsort(trace.id[marks], kind="stable")]
        numbers, begins = number[marks], trace.id[marks]
        before_first = int(numbers[0]) if len(marks) else NO_STEP
    return np.concatenate([[before_first], numbers])[np.searchsorted(begins, trace.id, side="right")]


def _marked(text: str) -> int:
    found = _MARK.fullmatch(text)
    return int(found[1]) if found else NO_STEP
