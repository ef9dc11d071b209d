"""A document's numbers as the runtimes' parsers store them, and which of its steps they merge."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hocket.schedule import BUFFERS, StepType
from hocket.translator.msccl.document import Document

__all__ = ["RESIDUAL_ADD", "TYPES", "DocumentColumns"]

#: Parsed by msccl only, and its kernel has no code for it.
RESIDUAL_ADD = "ra"
TYPES = [*map(str, StepType), RESIDUAL_ADD]
#: Reductions that a kernel does at once.
MAX_FUSED = 16


@dataclass(frozen=True, eq=False)
class DocumentColumns:
    """Columns over the gpus (G), thread blocks (B) and steps (S) of a document, in the order of the file."""

    document: Document

    @cached_property
    def num_chunks(self) -> int:
        return int(self.document.algorithm.number("nchunksperloop")[0])

    @cached_property
    def num_channels(self) -> int:
        return int(self.document.algorithm.number("nchannels")[0])

    @cached_property
    def gpu_rank(self) -> NDArray[np.int64]:
        return self.document.gpus.number("id")

    @cached_property
    def chunks(self) -> NDArray[np.int64]:
        """Chunks in each gpu's input, output and scratch buffer (G x 3)."""
        return np.stack([self.document.gpus.number(f"{name}_chunks") for name in BUFFERS], axis=1)

    @cached_property
    def rank(self) -> NDArray[np.int64]:
        """Rank of each block."""
        return self.gpu_rank[self.document.blocks.parent]

    @cached_property
    def block_id(self) -> NDArray[np.int64]:
        return self.document.blocks.number("id")

    @cached_property
    def num_blocks(self) -> NDArray[np.int64]:
        """Blocks of each gpu."""
        return np.bincount(self.document.blocks.parent, minlength=len(self.document.gpus))

    @cached_property
    def channel(self) -> NDArray[np.int64]:
        return self.document.blocks.number("chan")

    @cached_property
    def num_steps(self) -> NDArray[np.int64]:
        """Steps of each block."""
        return np.diff(self.first_step)

    @cached_property
    def first_step(self) -> NDArray[np.int64]:
        """First step of each block, and S."""
        return np.searchsorted(self.document.steps.parent, np.arange(len(self.document.blocks) + 1))

    @cached_property
    def block(self) -> NDArray[np.int64]:
        """Block of each step."""
        return self.document.steps.parent

    @cached_property
    def position(self) -> NDArray[np.int64]:
        """Position of each step in its block."""
        return np.arange(len(self.block)) - self.first_step[self.block]

    @cached_property
    def type(self) -> NDArray[np.int64]:
        """Each step's type as a position in `TYPES`; -1: none of them."""
        return self.document.steps.among("type", TYPES)

    def _of_type(self, has: list[bool]) -> NDArray[np.bool_]:
        of_type: NDArray[np.bool_] = np.array([*has, False, False])[self.type]
        return of_type

    @cached_property
    def real(self) -> NDArray[np.bool_]:
        """Whether each step is more than a carrier of a dependency."""
        return np.not_equal(self.type, TYPES.index(StepType.NOP))

    @cached_property
    def sends(self) -> NDArray[np.bool_]:
        return self._of_type([kind.sends for kind in StepType])

    @cached_property
    def receives(self) -> NDArray[np.bool_]:
        return self._of_type([kind.receives for kind in StepType])

    @cached_property
    def count(self) -> NDArray[np.int64]:
        return self.document.steps.number("cnt")

    @cached_property
    def depend_block(self) -> NDArray[np.int64]:
        return self.document.steps.number("depid")

    @cached_property
    def depend_step(self) -> NDArray[np.int64]:
        return self.document.steps.number("deps")

    @cached_property
    def has_dependents(self) -> NDArray[np.int64]:
        return self.document.steps.number("hasdep")

    def buffer(self, end: str) -> NDArray[np.int64]:
        """The buffer at one end, `src` or `dst`, of each step as a position in `BUFFERS`; -1: none of them."""
        return self.document.steps.among(f"{end}buf", list(BUFFERS))

    def offset(self, end: str) -> NDArray[np.int64]:
        """The offset at one end of each step, in the 16 bits that the runtimes keep of it."""
        return self.document.steps.number(f"{end}off", bits=16)

    def size(self, end: str) -> NDArray[np.int64]:
        """Chunks in the buffer at one end of each step."""
        return self.chunks[self.document.blocks.parent[self.block], self.buffer(end)]

    def uses(self, end: str) -> NDArray[np.bool_]:
        """Whether each step reads its source, or writes its destination."""
        return self._of_type([kind.reads if end == "src" else kind.writes for kind in StepType])

    @cached_property
    def reduces(self) -> NDArray[np.bool_]:
        """Whether each step is a local reduction."""
        return np.equal(self.type, TYPES.index(StepType.REDUCE))

    @cached_property
    def continues(self) -> NDArray[np.bool_]:
        """Whether each step is one more source of the reduction before it: the runtimes do them at once.

        They must stand side by side (nops do not count), reduce into the same chunk from one buffer, the later must
        wait for nothing, nothing for the earlier, and the earlier must not be the block's 16th reduction.
        """
        real = np.flatnonzero(self.real)
        earlier, later = real[:-1], real[1:]
        numbers = np.cumsum(self.reduces)
        number = numbers - np.concatenate([[0], numbers])[self.first_step[self.block]]
        same = self.block[earlier] == self.block[later]
        for column in (self.buffer("dst"), self.document.steps.number("dstoff"), self.buffer("src")):
            same &= column[earlier] == column[later]
        same &= self.reduces[earlier] & self.reduces[later] & (self.depend_block[later] == -1)
        same &= (self.has_dependents[earlier] == 0) & (number[earlier] != MAX_FUSED)
        continues = np.zeros(len(self.block), bool)
        continues[later[same]] = True
        return continues

    @cached_property
    def starts(self) -> NDArray[np.bool_]:
        """Whether each step begins a transfer of the kernels: it is real and continues no reduction."""
        return self.real & ~self.continues

    @cached_property
    def pending(self) -> NDArray[np.int64]:
        """Dependencies that each step finds waiting with its own: those since the transfer before it in its block."""
        carried = np.cumsum(self.depend_block >= 0)
        before = np.where(self.starts, carried, 0)
        since = np.maximum.accumulate(np.concatenate([[0], before])[:-1]) if len(before) else before
        first = np.concatenate([[0], carried])[self.first_step[self.block]]
        waiting: NDArray[np.int64] = carried - np.maximum(since, first)
        return waiting

    def per_block(self, mask: NDArray[np.bool_]) -> NDArray[np.int64]:
        """How many steps of each block a mask holds."""
        return np.bincount(self.block, weights=mask, minlength=len(self.document.blocks)).astype(np.int64)
