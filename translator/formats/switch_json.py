"""Programs over NVLink's switches as JSON: what the device engine's kernel over them runs."""

from pathlib import Path
from typing import Annotated, Literal

import msgspec

from hocket.base.errors import FormatError, ScheduleError
from hocket.base.reading import JSON, read_bytes
from hocket.schedule import Kind, SwitchProgram, SwitchRun
from hocket.translator.msccl.profile import LARGEST_BYTES

__all__ = ["from_switch_json", "is_switch_json", "read_switch_program", "to_switch_json"]

_Count = Annotated[int, msgspec.Meta(ge=0, le=(1 << 31) - 1)]
_Size = Annotated[int, msgspec.Meta(ge=0, le=LARGEST_BYTES)]


class _SwitchFile(msgspec.Struct, forbid_unknown_fields=True):
    """`runs`: head, first chunk and number of chunks of each."""

    format: Literal["hocket.switch_program"]
    version: Literal[1]
    name: str
    collective: Kind
    ranks: _Count
    root: _Count
    chunks_per_loop: _Count
    thread_blocks: _Count
    in_place: bool
    min_bytes: _Size
    max_bytes: _Size
    runs: list[tuple[_Count, _Count, _Count]]


def to_switch_json(program: SwitchProgram) -> str:
    """The program as JSON text."""
    form = _SwitchFile(
        format="hocket.switch_program",
        version=1,
        name=program.name,
        collective=program.kind,
        ranks=program.num_ranks,
        root=program.root,
        chunks_per_loop=program.chunks_per_loop,
        thread_blocks=program.thread_blocks,
        in_place=program.in_place,
        min_bytes=program.min_bytes,
        max_bytes=program.max_bytes,
        runs=[(head, first, chunks) for head, first, chunks in program.runs],
    )
    return msgspec.json.encode(form).decode() + "\n"


def is_switch_json(path: Path | str) -> bool:
    """Whether a file begins as those of `to_switch_json` do. Raises FormatError where it cannot be read."""
    try:
        with open(path, "rb") as file:
            return b'"hocket.switch_program"' in file.read(256)
    except OSError as error:
        raise FormatError(f"{path}: {error.strerror}") from error


def read_switch_program(path: Path | str) -> SwitchProgram:
    """The program in a file. Raises FormatError, naming file and rule."""
    return from_switch_json(read_bytes(path, JSON), str(path))


def from_switch_json(content: bytes | str, source: str) -> SwitchProgram:
    """The program in JSON of `to_switch_json`; `source` names it in errors. Raises FormatError."""
    try:
        form = msgspec.json.decode(content, type=_SwitchFile)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise FormatError(f"{source}: not a hocket.switch_program of version 1: {error}") from None
    try:
        return SwitchProgram(
            name=form.name,
            kind=form.collective,
            num_ranks=form.ranks,
            root=form.root,
            chunks_per_loop=form.chunks_per_loop,
            thread_blocks=form.thread_blocks,
            in_place=form.in_place,
            min_bytes=form.min_bytes,
            max_bytes=form.max_bytes,
            runs=tuple(SwitchRun(*run) for run in form.runs),
        )
    except ScheduleError as error:
        raise FormatError(f"{source}: {error}") from error
