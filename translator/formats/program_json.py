"""Programs as JSON of our own, without any runtime's limits: steps as columns, a line per GPU."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import FormatError, ScheduleError
from hocket.base.reading import JSON, read_bytes
from hocket.schedule import BUFFERS, STEP_ROW, Gpu, Kind, Program, Steps, StepType, ThreadBlock
from hocket.translator.msccl.profile import LARGEST_BYTES
from hocket.translator.msccl.xml_read import read_xml

__all__ = ["from_program_json", "is_program_json", "read_program", "to_program_json"]

_TYPES = [str(kind) for kind in StepType]
_MAX_PLACES = 1 << 26  # chunks of all ranks' buffers: what a proof has memory for

_T = TypeVar("_T")
_Count = Annotated[int, msgspec.Meta(ge=0, le=(1 << 31) - 1)]
_Index = Annotated[int, msgspec.Meta(ge=-1, le=(1 << 31) - 1)]
_Size = Annotated[int, msgspec.Meta(ge=0, le=LARGEST_BYTES)]


class _Steps(msgspec.Struct, forbid_unknown_fields=True):
    """Columns in the order of STEP_ROW; buffers are a letter a step."""

    type: list[Literal["s", "r", "cpy", "re", "nop", "rcs", "rrc", "rrs", "rrcs"]]
    src_buffer: str
    src_offset: list[_Index]
    dst_buffer: str
    dst_offset: list[_Index]
    count: list[_Count]
    depend_block: list[_Index]
    depend_step: list[_Index]
    has_dependents: list[bool]


class _Block(msgspec.Struct, forbid_unknown_fields=True):
    send: _Index
    receive: _Index
    channel: _Count
    steps: _Steps


class _Gpu(msgspec.Struct, forbid_unknown_fields=True):
    input_chunks: _Count
    output_chunks: _Count
    scratch_chunks: _Count
    thread_blocks: list[_Block]


class _Program(msgspec.Struct, forbid_unknown_fields=True):
    format: Literal["hocket.program"]
    version: Literal[1]
    name: str
    collective: Kind
    chunks_per_loop: Annotated[int, msgspec.Meta(ge=1, le=_MAX_PLACES)]
    num_channels: _Count
    protocol: Literal["Simple", "LL", "LL128"]
    in_place: bool
    out_of_place: bool
    min_bytes: _Size
    max_bytes: _Size
    root: _Count
    gpus: Annotated[list[msgspec.Raw], msgspec.Meta(min_length=1)]


def to_program_json(program: Program) -> str:
    """The program as JSON text. Raises ScheduleError when its sizes are none that a call can have."""
    if not 0 <= program.min_bytes <= LARGEST_BYTES or not 0 <= program.max_bytes <= LARGEST_BYTES:
        raise ScheduleError(
            f"no call is of {program.min_bytes} to {program.max_bytes} bytes, the sizes that "
            f"{program.name or 'the program'} is for: give --min-bytes and --max-bytes of 0 to {LARGEST_BYTES}"
        )
    return b"".join(_pieces(program)).decode()


def _pieces(program: Program) -> Iterator[bytes]:
    header = _Program(
        format="hocket.program",
        version=1,
        name=program.name,
        collective=program.kind,
        chunks_per_loop=program.chunks_per_loop,
        num_channels=program.num_channels,
        protocol=program.protocol,  # type: ignore[arg-type]  # a program has no other
        in_place=program.in_place,
        out_of_place=program.out_of_place,
        min_bytes=program.min_bytes,
        max_bytes=program.max_bytes,
        root=program.root,
        gpus=[],
    )
    yield msgspec.json.encode(header).removesuffix(b"]}")
    for rank, gpu in enumerate(program.gpus):
        yield (b",\n" if rank else b"\n") + msgspec.json.encode(_gpu_form(gpu))
    yield b"\n]}\n"


def _gpu_form(gpu: Gpu) -> _Gpu:
    blocks = [_Block(block.send, block.receive, block.channel, _steps_form(block.rows)) for block in gpu.thread_blocks]
    return _Gpu(gpu.input_chunks, gpu.output_chunks, gpu.scratch_chunks, blocks)


def _steps_form(rows: NDArray[np.void]) -> _Steps:
    return _Steps(
        type=[_TYPES[number] for number in rows["type"].tolist()],
        src_buffer="".join([BUFFERS[number] for number in rows["src_buffer"].tolist()]),
        src_offset=rows["src_offset"].tolist(),
        dst_buffer="".join([BUFFERS[number] for number in rows["dst_buffer"].tolist()]),
        dst_offset=rows["dst_offset"].tolist(),
        count=rows["count"].tolist(),
        depend_block=rows["depend_block"].tolist(),
        depend_step=rows["depend_step"].tolist(),
        has_dependents=rows["has_dependents"].tolist(),
    )


def is_program_json(path: Path | str) -> bool:
    """Whether a file begins as those of `to_program_json` do."""
    try:
        with open(path, "rb") as file:
            return b'"hocket.program"' in file.read(256)
    except OSError as error:
        raise FormatError(f"{path}: {error.strerror}") from error


def read_program(path: Path | str, *, profile: str | None = None, root: int | None = None) -> Program:
    """The program in a file: of this JSON if it is named so, else MSCCL XML for `profile`, whose `root` is found unless
    given, as `from_xml`.

    Raises FormatError naming file, place and rule.
    """
    if Path(path).suffix != ".json":
        return read_xml(path, profile=profile, root=root)
    if not is_program_json(path):
        raise FormatError(
            f"{path}: not a hocket.program, which `hocket translate --to json` writes; an MSCCL++ plan is judged by "
            "`hocket verify`, and simulated or run as the .schedule, .xml or .json that it was made from"
        )
    if root is not None or profile is not None:
        raise FormatError(f"{path} says its root itself, and is of no runtime; give neither")
    return from_program_json(read_bytes(path, JSON), str(path))


def from_program_json(content: bytes | str, source: str) -> Program:
    """The program in JSON of `to_program_json`; `source` names it in errors. Raises FormatError."""
    header = _decode(content, _Program, source)
    ranks = len(header.gpus)
    if header.chunks_per_loop * ranks > _MAX_PLACES:
        raise FormatError(
            f"{source}: {header.chunks_per_loop} chunks on each of {ranks} ranks; at most {_MAX_PLACES} can be proved"
        )
    if header.root >= ranks:
        raise FormatError(f"{source}: root {header.root} is not one of the ranks 0..{ranks - 1}")
    return Program(
        name=header.name,
        kind=header.collective,
        chunks_per_loop=header.chunks_per_loop,
        num_channels=header.num_channels,
        protocol=header.protocol,
        in_place=header.in_place,
        out_of_place=header.out_of_place,
        min_bytes=header.min_bytes,
        max_bytes=header.max_bytes,
        gpus=tuple(_gpu(raw, ranks, f"{source}: rank {rank}") for rank, raw in enumerate(header.gpus)),
        root=header.root,
    )


def _decode(content: bytes | str | msgspec.Raw, kind: type[_T], place: str) -> _T:
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise FormatError(f"{place}: not a hocket.program of version 1: {error}") from None


def _gpu(raw: msgspec.Raw, ranks: int, place: str) -> Gpu:
    form = _decode(raw, _Gpu, place)
    chunks = form.input_chunks + form.output_chunks + form.scratch_chunks
    if chunks > _MAX_PLACES:
        raise FormatError(f"{place}: {chunks} chunks in its buffers; at most {_MAX_PLACES} can be proved")
    blocks = []
    for number, block in enumerate(form.thread_blocks):
        if max(block.send, block.receive) >= ranks:
            peer = max(block.send, block.receive)
            raise FormatError(f"{place} thread block {number}: peer {peer} is not one of the ranks 0..{ranks - 1}")
        steps = Steps(_rows(block.steps, f"{place} thread block {number}"))
        blocks.append(ThreadBlock(block.send, block.receive, block.channel, steps))
    return Gpu(form.input_chunks, form.output_chunks, form.scratch_chunks, tuple(blocks))


def _rows(form: _Steps, place: str) -> NDArray[np.void]:
    columns = {field: getattr(form, field) for field in STEP_ROW.names or ()}
    lengths = {field: len(column) for field, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise FormatError(f"{place}: columns of steps differ in length: {lengths}")
    rows = np.zeros(len(form.type), STEP_ROW)
    for field, column in columns.items():
        if field == "type":
            rows[field] = [_TYPES.index(name) for name in column]
        elif field.endswith("buffer"):
            if strange := set(column) - set(BUFFERS):
                raise FormatError(f"{place}: {field} {min(strange)!r} is not one of {', '.join(BUFFERS)}")
            rows[field] = [BUFFERS.index(name) for name in column]
        else:
            rows[field] = column
    return rows
