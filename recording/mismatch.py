"""A place where ranks do not agree, or what was recorded is not whole."""

from dataclasses import dataclass

__all__ = ["Mismatch"]


@dataclass(frozen=True)
class Mismatch:
    """Where ranks do not agree, or did not finish: `problem` is a word to sort by, `message` names the place."""

    problem: str
    message: str
