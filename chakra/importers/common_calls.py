"""Calls that all ranks of their group recorded: rings that overwrote their beginning and jobs that hang lack some."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from hocket.chakra.importers.rank import IssuedCall, Notes
from hocket.chakra.losses import Loss, Lost

__all__ = ["agreeing"]

_SHOWN = 8


def agreeing(
    calls: Mapping[int, Sequence[IssuedCall]], groups: Mapping[str, tuple[int, ...]], notes: Notes
) -> dict[int, list[IssuedCall]]:
    """Each rank's calls without collectives that another of the given ranks of the group lacks, and without messages
    whose other end, one of the given ranks, lacks them: `notes` says which. A collective is known by its kind, of each
    of which NCCL counts by itself, and its `sequence`."""
    by_kind: dict[tuple[str, str], dict[int, dict[int, IssuedCall]]] = defaultdict(lambda: defaultdict(dict))
    for rank, own in calls.items():
        for call in own:
            if not call.is_message and call.sequence is not None:
                by_kind[call.group, call.kind][call.sequence][rank] = call
    dropped: set[int] = set()
    for (group, kind), by_sequence in by_kind.items():
        callers = [rank for rank in groups[group] if rank in calls]
        common = [number for number, of_number in by_sequence.items() if len(of_number) == len(callers)]
        early: set[int] = set()
        for number, of_number in sorted(by_sequence.items()):
            if len(of_number) == len(callers):
                continue
            dropped |= {id(call) for call in of_number.values()}
            for rank in of_number:
                notes.lost[rank][_missed(kind, number, common)] += 1
            if common and number < min(common):
                early.add(number)
                continue
            lacking = [rank for rank in callers if rank not in of_number]
            message = f"{kind} #{number} of group {group}: by ranks {sorted(of_number)[:_SHOWN]}, not by"
            notes[f"{message} {lacking[:_SHOWN]}: left out"] += 1
        if early:
            notes[f"collectives of group {group} before all its ranks' records begin: left out"] += len(early)
    _unpaired(calls, dropped, notes)
    return {rank: [call for call in own if id(call) not in dropped] for rank, own in calls.items()}


def _missed(kind: str, number: int, common: Sequence[int]) -> Loss:
    """What a collective is that not all ranks recorded: outside of what all of them did, no loss of communication."""
    if common and number < min(common):
        return Loss(Lost.NODE, kind, "before all its ranks' records begin")
    if common and number > max(common):
        return Loss(Lost.NODE, kind, "after some of its ranks' records end")
    return Loss(Lost.COLLECTIVE, kind, "another rank of its group has no record of it")


def _unpaired(calls: Mapping[int, Sequence[IssuedCall]], dropped: set[int], notes: Notes) -> None:
    """Adds to `dropped` the last messages of each channel that the other end lacks."""
    ends: dict[tuple[int, int, int], dict[str, list[IssuedCall]]] = defaultdict(lambda: {"send": [], "recv": []})
    for rank, own in calls.items():
        for call in own:
            if call.is_message:
                source, destination = (rank, call.peer) if call.kind == "send" else (call.peer, rank)
                ends[source, destination, call.tag][call.kind].append(call)
    for (source, destination, tag), messages in sorted(ends.items()):
        if source not in calls or destination not in calls:
            continue
        paired = min(len(messages["send"]), len(messages["recv"]))
        for kind, own in messages.items():
            dropped |= {id(call) for call in own[paired:]}
            if len(own) > paired:
                loss = Loss(Lost.MESSAGE, kind, "its other end has no record of it")
                note = f"{kind} from rank {source} to {destination}, tag {tag}, without partner: left out"
                notes.lose(source if kind == "send" else destination, loss, note, len(own) - paired)
