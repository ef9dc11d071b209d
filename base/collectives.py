"""The collectives by name, and what each brings where: the words for them of the whole house."""

import re
from collections.abc import Iterable
from functools import cache, cached_property

from hocket.base.enums import StrEnum, assert_never

__all__ = [
    "BARRIER",
    "MESSAGE",
    "NAMED_KINDS",
    "RECV",
    "SEND",
    "SENDRECV",
    "Held",
    "Kind",
    "bus_factor",
    "called_among",
    "kind_called",
    "kinds_called",
    "nccl_name",
    "whole_size",
]

#: What ranks do together that brings no data, and what goes from one rank to another.
BARRIER, MESSAGE = "barrier", "message"
#: The ends of one.
SEND, RECV = "send", "recv"
#: What nccl-tests measures of messages: one of each rank to the next, around the end.
SENDRECV = "sendrecv"


class Held(StrEnum):
    """Who has a chunk before a collective, or must have it after."""

    EVERYONE = "everyone"  # before: each rank has a contribution, and they are summed up
    ROOT = "root"
    OWNER = "owner"  # the rank whose block of the buffer it is a part of
    CONDITIONS = "conditions"  # those of the collective say it


class Kind(StrEnum):
    """The collectives with a meaning of their own; `custom` brings its own conditions."""

    ALL_REDUCE = "all_reduce"
    ALL_GATHER = "all_gather"
    REDUCE_SCATTER = "reduce_scatter"
    ALL_TO_ALL = "all_to_all"
    BROADCAST = "broadcast"
    REDUCE = "reduce"
    GATHER = "gather"
    SCATTER = "scatter"
    CUSTOM = "custom"

    @cached_property
    def before(self) -> Held:
        """Who has a chunk before."""
        match self:
            case Kind.ALL_REDUCE | Kind.REDUCE_SCATTER | Kind.REDUCE:
                return Held.EVERYONE
            case Kind.BROADCAST | Kind.SCATTER:
                return Held.ROOT
            case Kind.ALL_GATHER | Kind.GATHER | Kind.ALL_TO_ALL:
                return Held.OWNER
            case Kind.CUSTOM:
                return Held.CONDITIONS
            case _:
                assert_never(self)

    @cached_property
    def after(self) -> Held:
        """Who must have it after."""
        match self:
            case Kind.ALL_REDUCE | Kind.ALL_GATHER | Kind.BROADCAST:
                return Held.EVERYONE
            case Kind.REDUCE | Kind.GATHER:
                return Held.ROOT
            case Kind.REDUCE_SCATTER | Kind.SCATTER | Kind.ALL_TO_ALL:
                return Held.OWNER
            case Kind.CUSTOM:
                return Held.CONDITIONS
            case _:
                assert_never(self)

    @cached_property
    def reduces(self) -> bool:
        """Whether contributions of all ranks are summed up."""
        return self.before is Held.EVERYONE

    @cached_property
    def spreads(self) -> bool:
        """Whether all ranks must have every chunk."""
        return self.after is Held.EVERYONE

    @cached_property
    def rooted(self) -> bool:
        return Held.ROOT in (self.before, self.after)

    @cached_property
    def in_blocks(self) -> bool:
        """Whether the buffer has a block for each rank."""
        return Held.OWNER in (self.before, self.after)

    @cached_property
    def shares_buffer(self) -> bool:
        """Whether the buffer is one whole for all ranks, of which none has a part of its own."""
        return not self.in_blocks and self is not Kind.CUSTOM

    @cached_property
    def in_pairs(self) -> bool:
        """Whether each rank has a block for each other rank."""
        return self.before is self.after is Held.OWNER

    @cached_property
    def input_is_block(self) -> bool:
        """Whether a rank's input is its block of the buffer, the output being the whole."""
        return self.before is Held.OWNER and not self.in_pairs

    @cached_property
    def input_is_cut(self) -> bool:
        """Whether a rank's input has a block for each rank."""
        return self.in_blocks and not self.input_is_block

    @cached_property
    def output_is_block(self) -> bool:
        """Whether a rank's output is its block of the buffer, the input being the whole."""
        return self.after is Held.OWNER and not self.in_pairs

    @cached_property
    def cut_by_rank(self) -> bool:
        """Whether the buffer is cut into a part for each rank, or several: those of an all_reduce are the blocks of its
        halves, reduce_scatter and all_gather."""
        return self.in_blocks or (self.reduces and self.spreads)

    def bus_factor(self, num_ranks: int) -> float:
        """busbw / algbw (nccl-tests' PERFORMANCE.md): the share of the buffer that each of so many ranks must move."""
        halves = 2 if self.reduces and self.spreads else 1
        return halves * (num_ranks - 1) / num_ranks if self.cut_by_rank else 1.0


NAMED_KINDS = tuple(kind for kind in Kind if kind is not Kind.CUSTOM)


def whole_size(kind: str, input_bytes: int, output_bytes: int, num_ranks: int) -> int:
    """Bytes as nccl-tests counts the size of a collective: of a rank's whole buffer, of which what one of so many ranks
    puts in or gets may be its block. What only a root gives or takes, others have 0 of."""
    of_kind = Kind(kind) if kind in NAMED_KINDS else None
    if of_kind is not None and of_kind.input_is_block:
        return output_bytes or input_bytes * num_ranks
    if of_kind is not None and of_kind.output_is_block:
        return input_bytes or output_bytes * num_ranks
    return max(input_bytes, output_bytes)


def bus_factor(kind: str, num_ranks: int) -> float:
    """That of a kind, a message or a barrier."""
    return 1.0 if kind in (MESSAGE, BARRIER) else Kind(kind).bus_factor(num_ranks)


# What others add to the name of a collective: forms of its arguments, and programs that measure it.
_FORMS = re.compile("(v|base|coalesced|into|tensor|single|sparse|oop|block|mpi|perf|personalized|exchange)$")
_COMPACT = {kind.replace("_", ""): kind.value for kind in NAMED_KINDS} | {
    "bcast": Kind.BROADCAST.value,
    BARRIER: BARRIER,
    "allreducebarrier": BARRIER,  # what gloo's barrier is recorded as
    SENDRECV: MESSAGE,
    **{name: name for name in (MESSAGE, SEND, RECV)},
}


@cache
def kind_called(name: str) -> str | None:
    """The `Kind`, `barrier`, `message`, `send` or `recv` that others call so: PyTorch (`_allgather_base`), NCCL
    (`AllReduce`), MPI, MSCCL (`reducescatter`), benchmarks (`alltoall_perf`); None where it is none."""
    plain = re.sub("[^a-z]", "", name.lower())
    while plain not in _COMPACT and (shorter := _FORMS.sub("", plain)) != plain:
        plain = shorter
    return _COMPACT.get(plain)


def called_among(name: str, known: Iterable[str]) -> str:
    """The one of these names of collectives that others call `name`; `name` itself where none is, or it is one."""
    names = {*known}
    kind = None if name in names else kind_called(name)
    return name if kind is None or kind not in names else kind


def kinds_called(names: str) -> dict[str, Kind]:
    """The kind of each of the names of a list, in its order."""
    return {name: Kind(kind_called(name) or name) for name in names.split()}


def nccl_name(kind: Kind) -> str:
    """What NCCL calls a collective: `AllReduce`."""
    return "AlltoAll" if kind is Kind.ALL_TO_ALL else "".join(word.capitalize() for word in kind.split("_"))
