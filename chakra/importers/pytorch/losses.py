"""What a timeline lacks, or says so that it cannot be taken as it stands."""

from pathlib import Path

from hocket.base.errors import FormatError
from hocket.chakra.importers.pytorch.kineto import Kineto
from hocket.chakra.importers.rank import Notes
from hocket.chakra.losses import Loss, Lost

__all__ = ["ANEW", "note_losses"]

ANEW = "copy the file anew or profile again for the whole"


def note_losses(rank: int, path: Path, kineto: Kineto, notes: Notes) -> None:
    """Counts what of the rank's file is lost, left out or taken otherwise. Raises FormatError where it ends before all
    kernels."""
    _note_end(rank, path, kineto, notes)
    if kineto.num_negative:
        notes["events that end before they begin: taken to last no time"] += kineto.num_negative
    for category, (count, took_us) in sorted(kineto.unread.items()):
        took = f"left out, {took_us / 1e3:.3f} ms in all"
        loss = Loss(Lost.NODE, "event", "its category is not known")
        notes.lose(rank, loss, f"events of the category '{category}', which is not known: {took}", count)
    if kineto.num_odd:
        notes["attributes of another type than they should be: passed over"] += kineto.num_odd


def _note_end(rank: int, path: Path, kineto: Kineto, notes: Notes) -> None:
    lost = kineto.lost()
    spans = [(event.start, event.end) for event in kineto.operations]
    spans += [(event.start, event.end) for event in kineto.device]
    begin, end = min((start for start, _ in spans), default=0), max((end for _, end in spans), default=0)
    if kineto.is_cut and not kineto.device and (lost or kineto.gpu or "nccl" in kineto.backend):
        raise FormatError(
            f"{path}: cut off before its kernels, so that nothing tells how long they ran; copy the file anew, or"
            " profile again"
        )
    if kineto.is_cut:
        shown = f"what it has ends {(end - begin) / 1e6:.3f} ms after its first event, the rest is lost"
        loss = Loss(Lost.NODE, "file", "its end: it was cut off")
        notes.lose(rank, loss, f"{path} is cut off: {shown}; {ANEW}")
    if lost and kineto.device:
        first, last = ((launch - begin) / 1e6 for launch in (lost[0], lost[-1]))
        between = f"between {first:.3f} and {last:.3f} ms after the first event"
        note = f"kernels of {path} launched {between} that are not in it: their time is missing"
        notes.lose(rank, Loss(Lost.KERNEL, "launch", "its kernel is not in the profile"), note, len(lost))
