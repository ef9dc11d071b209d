"""One part of the self-test in a process of its own: `python -m hocket.api.selftest.child FOLDER`.

FOLDER holds `place.json`; it gets `outcome.json`. What the part prints is its log.
"""

import sys
from pathlib import Path

import msgspec

from hocket.api.selftest.outcome import PartOutcome, PartPlace, State
from hocket.api.selftest.parts.registry import PARTS
from hocket.base.errors import HocketError
from hocket.base.interrupts import ended_by_signals
from hocket.base.scratch import hand_over

__all__ = ["OUTCOME", "PLACE", "main"]

PLACE, OUTCOME = "place.json", "outcome.json"


def main(folder: Path) -> None:
    """Does the part; an error of its own is a failure with that reason, any other ends the process."""
    place = msgspec.json.decode((folder / PLACE).read_bytes(), type=PartPlace)
    try:
        outcome = PARTS[place.name].perform(place)
    except HocketError as error:
        outcome = PartOutcome(state=State.FAILED, reasons=(str(error),))
    hand_over(folder / OUTCOME, msgspec.json.encode(outcome))


if __name__ == "__main__":
    with ended_by_signals():
        main(Path(sys.argv[1]))
