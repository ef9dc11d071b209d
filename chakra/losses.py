"""What of a recording is in no node of its trace, and what was put right in one: counted in the trace's own metadata.

A trace without its collectives is valid and takes no time, so whatever was left out has to travel with it: `losses` and
`repairs` are lists of texts `COUNT WHAT KIND: REASON`, such as `4 collective all_reduce: its size, which was not
recorded`. They are of the rank's whole recording, also in a slice of its trace.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from hocket.base.enums import StrEnum
from hocket.chakra.roles import kinds_of_traces
from hocket.chakra.trace import TraceSet

__all__ = [
    "LOSSES",
    "REPAIRS",
    "Loss",
    "Lost",
    "all_communication_lost",
    "communication_lost",
    "loss_lines",
    "losses_of",
    "losses_of_job",
    "malformed_losses",
    "with_losses",
]

#: Metadata of a trace: what its recording had that no node stands for; what an import or a repair inferred.
LOSSES, REPAIRS = "losses", "repairs"

_TEXT = re.compile(r"(\d{1,18}) (\w+) ([^:]*): (.*)", re.DOTALL)


class Lost(StrEnum):
    """What can be lost. Without a collective or message a trace communicates less than its job did."""

    COLLECTIVE = "collective"
    MESSAGE = "message"
    KERNEL = "kernel"
    WAIT = "wait"
    NODE = "node"
    DEPENDENCY = "dependency"

    @property
    def is_communication(self) -> bool:
        return self in (Lost.COLLECTIVE, Lost.MESSAGE)


@dataclass(frozen=True, order=True)
class Loss:
    """What was lost, of which kind (all_reduce, send, ...), and why, in words."""

    what: Lost
    kind: str
    reason: str

    @classmethod
    def of_call(cls, kind: str, reason: str) -> "Loss":
        """A collective, or a message where `kind` is send or recv."""
        return cls(Lost.MESSAGE if kind in ("send", "recv") else Lost.COLLECTIVE, kind, reason)


def losses_of(metadata: Mapping[str, object], key: str = LOSSES) -> Counter[Loss]:
    """What a trace's metadata say was lost (of the key REPAIRS: was inferred or left out by a repair)."""
    found: Counter[Loss] = Counter()
    for text in _texts(metadata, key):
        told = _TEXT.fullmatch(text)
        if told is not None and told[2] in {*Lost}:
            found[Loss(Lost(told[2]), told[3], told[4])] += int(told[1])
    return found


def malformed_losses(metadata: Mapping[str, object]) -> list[str]:
    """The texts under these keys that `losses_of` passes over."""
    told = [(text, _TEXT.fullmatch(text)) for key in (LOSSES, REPAIRS) for text in _texts(metadata, key)]
    return [text for text, found in told if found is None or found[2] not in {*Lost}]


def with_losses(metadata: Mapping[str, object], more: Mapping[Loss, int], key: str = LOSSES) -> dict[str, object]:
    """The metadata that also count these."""
    counts = losses_of(metadata, key)
    counts.update({loss: count for loss, count in more.items() if count})
    if not counts:
        return dict(metadata)
    return {**metadata, key: [f"{counts[each]} {each.what} {each.kind}: {each.reason}" for each in sorted(counts)]}


def communication_lost(losses: Mapping[Loss, int]) -> int:
    """How many collectives and messages are lost."""
    return sum(count for loss, count in losses.items() if loss.what.is_communication)


def all_communication_lost(losses: Mapping[Loss, int], num_placed: int) -> bool:
    """Whether collectives or messages were lost, and none is left: what is simulated then does not communicate."""
    return num_placed == 0 and communication_lost(losses) > 0


def losses_of_job(traces: TraceSet) -> Counter[Loss]:
    """What all ranks' traces say was lost."""
    found: Counter[Loss] = Counter()
    for trace, count in kinds_of_traces(traces):
        for loss, each in losses_of(trace.metadata).items():
            found[loss] += each * count
    return found


def loss_lines(losses: Mapping[Loss, int]) -> Iterator[str]:
    """A sentence for each sort of thing that was lost, with the counts by kind and reason."""
    for what in Lost:
        own = {loss: count for loss, count in losses.items() if loss.what is what}
        if own:
            total = sum(own.values())
            each = "; ".join(
                f"{own[loss]} {loss.kind}: {loss.reason}" if loss.kind else f"{own[loss]}: {loss.reason}"
                for loss in sorted(own, key=lambda loss: (-own[loss], loss))
            )
            plural = "dependencies" if what is Lost.DEPENDENCY else f"{what}s"
            of_recording = f"{what if total == 1 else plural} of the recording"
            yield f"{total} {of_recording} {'is' if total == 1 else 'are'} not in the traces ({each})"


def _texts(metadata: Mapping[str, object], key: str) -> Iterable[str]:
    told = metadata.get(key)
    return [text for text in told if isinstance(text, str)] if isinstance(told, list) else []
