"""MSCCL XML to Program: strict, naming the line, the element, the rule and the remedy."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NoReturn

from hocket.core.files import read_text
from hocket.schedule import BUFFERS, Gpu, Kind, Program, Step, StepType, ThreadBlock
from hocket.translator.profiles import PROFILES, Profile, find_profile
from hocket.translator.xml_tokens import Element, elements, fail

__all__ = ["from_xml", "read_xml"]

_INTEGER = re.compile(r"-?(?:0[xX][0-9a-fA-F]{1,16}|[0-9]{1,18})")
_PROTOCOLS = ("Simple", "LL", "LL128")
_MAX_CHUNKS = (1 << 15) - 1 + 71  # offsets are 16 bits in every runtime, and a step moves at most 71 chunks
_DEFAULT_MAX_BYTES = 1 << 27  # only msccl takes a file without maxBytes, and this is what it then assumes
_STEP_TYPES = {str(kind): kind for kind in StepType}


def read_xml(path: Path | str, *, profile: str | None = None, root: int | None = None) -> Program:
    """The program in an MSCCL XML file, as `from_xml`. Raises FormatError naming file, line, rule and remedy."""
    return from_xml(read_text(path), str(path), profile=profile, root=root)


def from_xml(text: str, source: str, *, profile: str | None = None, root: int | None = None) -> Program:
    """The program in MSCCL XML text of any of the three dialects, or only of `profile`; `source` names it in errors.

    The file does not say the root of a broadcast or reduce: it is taken from who receives (broadcast: the one rank
    that never does) or sends (reduce: the one that never does), unless given. Raises FormatError.
    """
    chosen = list(PROFILES.values()) if profile is None else [find_profile(profile)]
    return _Reader(text, source, chosen).program(root)


@cache
def _integer(value: str) -> int | None:
    """C's strtol with base 0, without its silent zero for anything else."""
    if not _INTEGER.fullmatch(value):
        return None
    digits = value.lstrip("-")
    if digits[:2] in ("0x", "0X"):
        number = int(digits, 16)
    elif digits[0] == "0" and len(digits) > 1:
        if "8" in digits or "9" in digits:
            return None
        number = int(digits, 8)
    else:
        number = int(digits)
    return -number if value[0] == "-" else number


@dataclass(frozen=True, slots=True)
class _Reader:
    text: str
    source: str
    profiles: list[Profile]

    def fail(self, element: Element, message: str) -> NoReturn:
        fail(self.text, self.source, element.start, f"<{element.name}> {message}")

    def value(self, element: Element, key: str) -> str:
        value = element.attributes.get(key)
        if value is None:
            self.fail(element, f"has no attribute {key}, which is required")
        return value

    def choice(self, element: Element, key: str, allowed: Sequence[str]) -> str:
        value = self.value(element, key)
        if value not in allowed:
            self.fail(element, f'{key}="{value}" is not one of {", ".join(allowed)}')
        return value

    def number(self, element: Element, key: str, low: int, high: int | None = None, default: int | None = None) -> int:
        """An attribute in low..high (no upper end: high is None)."""
        if default is not None and key not in element.attributes:
            return default
        text = self.value(element, key)
        number = _integer(text)
        if number is None:
            self.fail(element, f'{key}="{text}" is not an integer (the runtimes silently read another number)')
        if number < low or (high is not None and number > high):
            expected = f"{low} or more" if high is None else f"{low}..{high}"
            self.fail(element, f'{key}="{text}" is out of range, expected {expected}')
        return number

    def children(self, element: Element, name: str) -> list[Element]:
        """The children of that name; the runtimes ignore other elements, and so does this reader."""
        return [child for child in element.children if child.name == name]

    def ordered(self, parent: Element, name: str, count: int | None = None) -> list[Element]:
        """Children whose ids are 0..count-1 (default: as many as there are), each once, in the order of their ids."""
        found = self.children(parent, name)
        expected = len(found) if count is None else count
        by_id: dict[int, Element] = {}
        for child in found:
            identity = self.number(child, "id", 0)
            if identity in by_id:
                self.fail(child, f'id="{identity}" is used twice in <{parent.name}>')
            if identity >= expected:
                self.fail(child, f'id="{identity}": ids must be 0..{expected - 1} without a gap')
            by_id[identity] = child
        if len(by_id) < expected:
            missing = next(identity for identity in range(expected) if identity not in by_id)
            self.fail(parent, f'has no <{name} id="{missing}">; ids must be 0..{expected - 1} without a gap')
        return [by_id[identity] for identity in range(expected)]

    def program(self, root: int | None) -> Program:
        top = elements(self.text, self.source)
        if not top or top[0].name != "algo":
            fail(self.text, self.source, top[0].start if top else 0, "expected an <algo> element; is this MSCCL XML?")
        if len(top) > 1:
            self.fail(top[1], "follows </algo>; a file holds one algorithm, the runtimes ignore the rest")
        algo = top[0]
        for attribute in sorted(frozenset.intersection(*(profile.attributes for profile in self.profiles))):
            self.value(algo, attribute)
        names = {name: kind for profile in self.profiles for kind, name in profile.collective_names.items()}
        num_ranks = self.number(algo, "ngpus", 1)
        if root is not None and not 0 <= root < num_ranks:
            self.fail(algo, f'ngpus="{num_ranks}": root {root} is not one of the ranks 0..{num_ranks - 1}')
        kind = names[self.choice(algo, "coll", sorted(names))]
        in_place = bool(self.number(algo, "inplace", 0, 1))
        channels = self.number(algo, "nchannels", 1)
        minimum = self.number(algo, "minBytes", 0, default=0)
        maximum = self.number(algo, "maxBytes", 0, default=_DEFAULT_MAX_BYTES)
        if 0 < maximum < minimum:
            self.fail(algo, f"minBytes={minimum} is above maxBytes={maximum}: no size would ever select it")
        gpus = tuple(self.gpu(gpu, num_ranks, channels) for gpu in self.ordered(algo, "gpu", num_ranks))
        return Program(
            name=algo.attributes.get("name", ""),
            kind=kind,
            chunks_per_loop=self.number(algo, "nchunksperloop", 1, _MAX_CHUNKS),
            num_channels=channels,
            protocol=self.choice(algo, "proto", _PROTOCOLS),
            in_place=in_place,
            out_of_place=bool(self.number(algo, "outofplace", 0, 1, default=int(not in_place))),
            min_bytes=minimum,
            max_bytes=maximum,
            gpus=gpus,
            root=_root(kind, gpus) if root is None else root,
        )

    def gpu(self, gpu: Element, num_ranks: int, channels: int) -> Gpu:
        chunks = {buffer: self.number(gpu, f"{buffer}_chunks", 0, _MAX_CHUNKS) for buffer in BUFFERS}
        rank = self.number(gpu, "id", 0)
        blocks = self.ordered(gpu, "tb")
        lengths = [len(self.children(block, "step")) for block in blocks]
        return Gpu(
            input_chunks=chunks["i"],
            output_chunks=chunks["o"],
            scratch_chunks=chunks["s"],
            thread_blocks=tuple(
                self.thread_block(block, rank, num_ranks, channels, chunks, lengths) for block in blocks
            ),
        )

    def thread_block(
        self, block: Element, rank: int, num_ranks: int, channels: int, chunks: dict[str, int], lengths: list[int]
    ) -> ThreadBlock:
        send, receive = (self.number(block, key, -1, num_ranks - 1) for key in ("send", "recv"))
        if rank in (send, receive):
            self.fail(block, f"has its own rank {rank} as a peer; use cpy or re for local work")
        found = self.children(block, "step")
        steps = tuple(self.step(step, position, chunks, lengths) for position, step in enumerate(found))
        for position, (element, step) in enumerate(zip(found, steps, strict=True)):
            if step.type.sends and send < 0:
                self.fail(element, f'type="{step.type}" sends, but its <tb> has send="-1"')
            if step.type.receives and receive < 0:
                self.fail(element, f'type="{step.type}" receives, but its <tb> has recv="-1"')
            # nops lend their dependency to the next real step, which must have one itself
            if step.type == "nop" and all(after.depend_block < 0 for after in steps[position + 1 : position + 2]):
                self.fail(element, "is a nop without a step with a dependency after it; give that step the dependency")
            if position > 0 and _merges(steps[position - 1], step) and steps[position - 1].count != step.count:
                self.fail(
                    element,
                    f"follows a reduction of {steps[position - 1].count} chunks into the same place; the runtimes make "
                    f'one reduction of both, of cnt="{step.count}": give both the same cnt',
                )
        return ThreadBlock(send, receive, self.number(block, "chan", 0, channels - 1), steps)

    def step(self, step: Element, position: int, chunks: dict[str, int], lengths: list[int]) -> Step:
        if self.number(step, "s", 0) != position:
            self.fail(step, f's="{step.attributes["s"]}" is step {position} of its <tb>; number steps 0, 1, 2, ...')
        kind = _STEP_TYPES[self.choice(step, "type", tuple(_STEP_TYPES))]
        block = self.number(step, "depid", -1, len(lengths) - 1)
        depend = self.number(step, "deps", -1, None if block < 0 else lengths[block] - 1)
        if (block < 0) != (depend < 0):
            self.fail(step, "needs both depid and deps, or -1 for both")
        result = Step(
            type=kind,
            src_buffer=self.choice(step, "srcbuf", BUFFERS),
            src_offset=self.number(step, "srcoff", -(1 << 31)),
            dst_buffer=self.choice(step, "dstbuf", BUFFERS),
            dst_offset=self.number(step, "dstoff", -(1 << 31)),
            count=self.number(step, "cnt", 0 if kind == "nop" else 1, (1 << 31) - 1),
            depend_block=block,
            depend_step=depend,
            has_dependents=bool(self.number(step, "hasdep", 0, 1)),
        )
        if kind.reads:
            self.inside(step, "src", result.src_buffer, result.src_offset, result.count, chunks)
        if kind.writes:
            self.inside(step, "dst", result.dst_buffer, result.dst_offset, result.count, chunks)
        return result

    def inside(self, step: Element, end: str, buffer: str, offset: int, count: int, chunks: dict[str, int]) -> None:
        if offset < 0 or offset + count > chunks[buffer]:
            self.fail(
                step,
                f"{end}: chunks {offset}..{offset + count - 1} are not all in buffer {buffer}, which has "
                f"{buffer}_chunks={chunks[buffer]} on this gpu",
            )


def _merges(first: Step, second: Step) -> bool:
    """Whether the runtimes make one reduction of two consecutive steps, with the count of the second."""
    same_place = (first.dst_buffer, first.dst_offset, first.src_buffer) == (
        second.dst_buffer,
        second.dst_offset,
        second.src_buffer,
    )
    both_reduce = first.type == second.type == StepType.REDUCE
    return both_reduce and same_place and second.depend_block < 0 and not first.has_dependents


def _root(kind: Kind, gpus: tuple[Gpu, ...]) -> int:
    """The root that the steps give away; 0 where they do not."""
    if kind not in (Kind.BROADCAST, Kind.REDUCE, Kind.GATHER, Kind.SCATTER):
        return 0
    sourced = kind in (Kind.BROADCAST, Kind.SCATTER)

    def silent(gpu: Gpu) -> bool:
        steps = (step.type for block in gpu.thread_blocks for step in block.steps)
        return not any(step.receives if sourced else step.sends for step in steps)

    candidates = [rank for rank, gpu in enumerate(gpus) if silent(gpu)]
    return candidates[0] if len(candidates) == 1 else 0
