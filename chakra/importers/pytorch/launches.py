"""When the host launched what ran on a device, and in which step."""

from bisect import bisect_right
from collections.abc import Sequence

from hocket.chakra.importers.pytorch.kineto import Kineto
from hocket.chakra.importers.pytorch.starts import Start
from hocket.chakra.steps import NO_STEP

__all__ = ["BEFORE", "launch_times", "step_numbers"]

#: The launch of what was launched before the recording began.
BEFORE = -1


def launch_times(kineto: Kineto) -> list[int]:
    """For each event of the device the time (ns) at which the host launched it.

    Streams run in the order of launches: an event whose launch is not in the profile has that of the one before it on
    its stream, and was launched before the recording (BEFORE) where there is none but later ones have one. Where
    nothing on the stream has one, as in profiles of a device alone, launches are begins.
    """
    of_stream: dict[int, list[int]] = {}
    for index, event in enumerate(kineto.device):
        of_stream.setdefault(event.stream, []).append(index)
    found = [event.start for event in kineto.device]
    for indices in of_stream.values():
        told = [kineto.launches.get(kineto.device[index].correlation) for index in indices]
        if not any(told):
            continue
        last = BEFORE
        for index, launch in zip(indices, told, strict=True):
            last = found[index] = last if launch is None else launch[0]
    return found


def step_numbers(begins: Sequence[int], launches: Sequence[int], starts: Sequence[Start]) -> list[int]:
    """For each event of the device the place of its step among the steps that begin on the host at `begins` (in order),
    NO_STEP before them: that which launched it, wherever the host was when it ran, or a later one that it follows."""
    found: list[int] = []
    for launch, start in zip(launches, starts, strict=True):
        own = bisect_right(begins, launch) - 1
        found.append(max([own if own >= 0 else NO_STEP, *(found[other] for other in start.after)]))
    return found
