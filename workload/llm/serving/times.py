"""What requests waited for, from the times of a simulated or measured run."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import TraceError
from hocket.chakra.extras import extra_attributes
from hocket.chakra.trace import TraceSet

__all__ = ["RequestTimes", "request_times"]

_PICOSECONDS = 1000
_MARKS = ("first token", "last token")


@dataclass(frozen=True)
class RequestTimes:
    """A request's time to its first token and to its last, picoseconds from its arrival, and tokens it got."""

    number: int
    first_token_ps: int
    last_token_ps: int
    output: int

    @property
    def token_ps(self) -> int:
        """Time of each output token after the first; 0 where there is none."""
        return (self.last_token_ps - self.first_token_ps) // (self.output - 1) if self.output > 1 else 0


def request_times(traces: TraceSet, finish_ps: NDArray[np.int64]) -> list[RequestTimes]:
    """Of all requests, by their numbers; `finish_ps`: when each node ended, rank after rank, as
    `Prediction.node_finish_ps` has it. The slowest rank counts. Raises TraceError for traces that were read without
    what has no column (`read_traces(path, complete=True)` keeps it)."""
    found: dict[tuple[int, str], int] = {}
    said: dict[int, tuple[int, int]] = {}
    first = 0
    for trace in traces.traces:
        of_mark = {
            place: (int(words[1]), words[2])
            for place, text in enumerate(trace.strings)
            if (words := text.split(" ", 2))[0] == "request" and len(words) == 3 and words[2] in _MARKS
        }
        for row in np.flatnonzero(np.isin(trace.name, list(of_mark))).tolist():
            number, mark = of_mark[int(trace.name[row])]
            attributes = extra_attributes(trace, row)
            if "arrival_ns" not in attributes:
                raise TraceError(
                    f"node {row} '{trace.strings[trace.name[row]]}' does not say when its request arrived: read the"
                    " traces with complete=True"
                )
            said[number] = int(attributes["arrival_ns"]) * _PICOSECONDS, int(attributes["output_tokens"])
            found[number, mark] = max(found.get((number, mark), 0), int(finish_ps[first + row]))
        first += len(trace)
    return [
        RequestTimes(
            number,
            found[number, "first token"] - arrival,
            found.get((number, "last token"), found[number, "first token"]) - arrival,
            output,
        )
        for number, (arrival, output) in sorted(said.items())
    ]
