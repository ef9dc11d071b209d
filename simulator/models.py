"""What a user chooses: the network model and how switches pass messages on."""

from hocket.core.enums import StrEnum

__all__ = ["Model", "Switching"]


class Model(StrEnum):
    """The fidelity ladder; docs/simulator.md says what each captures."""

    BOUND = "bound"
    ANALYTICAL = "analytical"
    CONGESTION = "congestion"


class Switching(StrEnum):
    """Whether a node passes a message on when its head is there or when all of it is."""

    CUT_THROUGH = "cut_through"
    STORE_AND_FORWARD = "store_and_forward"
