"""Connections of this process with the other ranks of a group: shared memory or TCP."""

import secrets
from collections.abc import Callable

from hocket._core import executor as native

__all__ = ["Connections"]


class Connections:
    """Making it is collective: `tell` gives every rank's words for this rank's, by rank. Ranks that share memory, both
    of them, and find each other on one machine talk through it. Raises HocketError where this rank cannot listen."""

    def __init__(self, rank: int, tell: Callable[[str], list[str]], host: str, shares_memory: bool) -> None:
        token, nearby = secrets.randbits(63), secrets.randbits(63) if shares_memory else 0
        self.rank = rank
        self.mesh = native.Mesh(rank, host, token, nearby)
        answers = tell(f"{host}|{self.mesh.port}|{token}|{nearby}")
        hosts, *numbers = zip(*(answer.split("|") for answer in answers), strict=True)
        ports, tokens, nearbys = (list(map(int, column)) for column in numbers)
        self._peers = list(hosts), ports, tokens, nearbys

    def open(self, part: native.Program, timeout_ms: int) -> None:
        """The connections that a program needs; all ranks open theirs in one order. Raises HocketError, naming the rank
        that did not come."""
        self.mesh.open(part, *self._peers, timeout_ms)
