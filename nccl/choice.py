"""A choice of algorithm, protocol and channels, as people write it and as NCCL's variables force it."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hocket.base.errors import FormatError
from hocket.nccl.names import ALGORITHMS, COLLECTIVES, PROTOCOLS, algorithm_named, can_do, protocol_named
from hocket.nccl.settings import read_settings

__all__ = ["FORCING", "Forced", "NcclChoice", "forced", "read_choice"]

#: The variables that take the choice, or a part of it, from NCCL.
FORCING = (
    "NCCL_ALGO",
    "NCCL_PROTO",
    *(f"NCCL_{end}_{name}" for end in ("MIN", "MAX") for name in ("NCHANNELS", "CTAS")),
)


@dataclass(frozen=True, slots=True, order=True)
class NcclChoice:
    """`algorithm` and `protocol` by NCCL's names; `channels` that carry it, 0 where that is left to NCCL."""

    algorithm: str
    protocol: str
    channels: int = 0

    @property
    def name(self) -> str:
        """`Ring/LL128`, `Ring/LL128/16`."""
        return f"{self.algorithm}/{self.protocol}" + f"/{self.channels}" * (self.channels > 0)


@dataclass(frozen=True, slots=True)
class Forced:
    """What variables leave of NCCL's choice for a collective, of what it can do: `free` where they leave all of it.

    `algorithm` and `protocol` are None where more than one is left, `channels` where some are ruled out but more than
    one number is left; it is 0 where NCCL has all.
    """

    algorithm: str | None
    protocol: str | None
    channels: int | None
    free: bool

    @property
    def choice(self) -> NcclChoice | None:
        """Where one is left."""
        if self.algorithm is None or self.protocol is None or self.channels is None:
            return None
        return NcclChoice(self.algorithm, self.protocol, self.channels)


def read_choice(text: str) -> NcclChoice:
    """The choice written as `ring/ll128` or, with channels, `ring/ll128/16`. Raises FormatError for others."""
    algorithm, _, rest = text.partition("/")
    protocol, slash, channels = rest.partition("/")
    if slash and not (channels.isdecimal() and 1 <= int(channels) <= 64):
        raise FormatError(f"'{text}': {channels!r} are no channels: expected 1 to 64, as in ring/ll128/16")
    place = f"'{text}'"
    return NcclChoice(algorithm_named(algorithm, place), protocol_named(protocol, place), int(channels or 0))


def forced(variables: Mapping[str, str], collective: str, place: str) -> Forced:
    """What NCCL's variables (others are passed over) leave of its choice for a collective of its COLLECTIVES.

    Raises FormatError, naming `place`, for values that NCCL does not know.
    """
    try:
        settings = read_settings(f"{name}={variables[name]}" for name in FORCING if name in variables)
    except FormatError as error:
        raise FormatError(f"{place}: {error}") from error
    row = COLLECTIVES.index(collective)
    limits = (settings.min_channels, settings.max_channels), (settings.min_ctas, settings.max_ctas)
    limited = any(name in variables for name in FORCING[2:])
    only = next((least for least, most in limits if least == most), None)
    kernels = [pair for pair in np.ndindex(len(ALGORITHMS), len(PROTOCOLS)) if can_do(row, *pair)]
    left = [(at, of) for at, of in kernels if settings.algorithms[row][at] and settings.protocols[row][of]]
    return Forced(
        _only(ALGORITHMS, {at for at, _ in left}),
        _only(PROTOCOLS, {of for _, of in left}),
        only if limited else 0,
        not limited and left == kernels,
    )


def _only(names: tuple[str, ...], left: set[int]) -> str | None:
    return names[next(iter(left))] if len(left) == 1 else None
