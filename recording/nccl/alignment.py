"""Which records of NCCL's are of which calls, where both count the same things in the same order and either may lack
some."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Expected", "Found", "align_calls"]

Numbers = NDArray[np.int64]

# So far on is looked for the next call and record of one size, where two are not.
_AHEAD = 8


@dataclass(frozen=True)
class Expected:
    """A call of the job: `row` in its recording, `start` in ns, how many bytes NCCL should count for it, None where
    that is not known. `is_several` where NCCL may have been called several times for it, `batch` which batch it is
    of."""

    row: int
    start: int
    num_bytes: int | None
    is_several: bool = False
    batch: int = -1


@dataclass(frozen=True)
class Found:
    """A record of NCCL's: `row` among its process's calls, `start` in ns, bytes, and its number, which counts all that
    there were."""

    row: int
    start: int
    num_bytes: int
    number: int


def align_calls(calls: Sequence[Expected], records: Sequence[Found], one_clock: bool) -> list[tuple[int, int]]:
    """Pairs of rows of calls and records, both of one function and one place and in order.

    The first record is the first call's and so on, as long as their bytes agree. Where records' numbers leave some out
    as many calls are passed over; where bytes do not agree, what lies before the nearest two that do. With `one_clock`
    a record from before a call is not that call's.
    """
    pairs: list[tuple[int, int]] = []
    call = record = 0
    while one_clock and calls and record < len(records) and records[record].start < calls[0].start:
        record += 1
    if record == 0 and records:
        call = records[0].number  # what was lost at the beginning
    while call < len(calls) and record < len(records):
        if one_clock and records[record].start < calls[call].start:
            record += 1
        elif one_clock and _is_lost(calls, call, records, record):
            call += 1
        elif length := _length(calls[call], records, record):
            pairs += [(calls[call].row, found.row) for found in records[record : record + length]]
            call, record = call + 1, record + length
            if record < len(records):
                call += records[record].number - records[record - 1].number - 1
        else:
            calls_on, records_on = _next(calls[call:], records[record:])
            call, record = call + calls_on, record + records_on
    return pairs


def _length(call: Expected, records: Sequence[Found], begin: int) -> int:
    """How many of the records from `begin` on the call has; 0 where they cannot be its."""
    if call.num_bytes in (None, records[begin].num_bytes):
        return 1
    total, end = 0, begin
    while call.is_several and end < len(records) and total < (call.num_bytes or 0):
        total, end = total + records[end].num_bytes, end + 1
    return end - begin if total == call.num_bytes else 0


def _is_lost(calls: Sequence[Expected], call: int, records: Sequence[Found], record: int) -> bool:
    """Whether a call's record seems to be missing: there are too few, and the next one came after the next call."""
    if len(calls) - call <= len(records) - record or call + 1 == len(calls):
        return False
    following = calls[call + 1]
    alone = following.batch == -1 or following.batch != calls[call].batch
    return alone and records[record].start >= following.start


def _next(calls: Sequence[Expected], records: Sequence[Found]) -> tuple[int, int]:
    """By how much to go on to the nearest call and record that may be one; past both where there are none near."""
    steps = [(far - on, on) for far in range(1, 2 * _AHEAD) for on in range(far + 1)]
    for calls_on, records_on in steps:
        if calls_on < len(calls) and records_on < len(records) and _length(calls[calls_on], records, records_on):
            return calls_on, records_on
    return 1, 1
