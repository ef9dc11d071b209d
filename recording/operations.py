"""Operations of `c10d` that are no collectives."""

__all__ = ["LOCAL", "PEER_TO_PEER"]

PEER_TO_PEER = ("send", "recv")

# Bring nothing from one rank to another.
LOCAL = ("check_for_nan",)
