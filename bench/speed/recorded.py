"""Rates that were measured before: lines of JSON, the newest last."""

import subprocess
from collections.abc import Iterable
from pathlib import Path

import msgspec

from hocket.base import processes
from hocket.base.errors import FormatError
from hocket.base.files import write_file
from hocket.base.version import __version__

__all__ = ["RECORDED", "RecordedRate", "commit", "keep", "newest", "read_rates"]

#: The measurements that are part of the repository.
RECORDED = Path(__file__).with_name("recorded.jsonl")


class RecordedRate(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A rate in units a CPU second of one core, with the CPU's model, what compiled the engine, and the commit.

    `instruction_limit`: instructions a second that the core could do in the same run; a slower machine has less of it
    too, so that the two together tell a slower program from a slower machine.
    """

    case: str
    unit: str
    rate: float
    cpu: str
    compiler: str
    commit: str
    instruction_limit: float = 0.0

    def part_of_limit(self) -> float | None:
        return self.rate / self.instruction_limit if self.instruction_limit else None


def read_rates(path: Path) -> list[RecordedRate]:
    """All lines of a file; none where there is no file. Raises FormatError naming file and line."""
    if not path.is_file():
        return []
    rates = []
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        try:
            rates.append(msgspec.json.decode(line, type=RecordedRate))
        except msgspec.DecodeError as error:
            raise FormatError(
                f"{path}:{number}: {error}: not a rate of `hocket bench speed --record`; remove the line"
            ) from error
    return rates


def newest(rates: Iterable[RecordedRate], cpu: str) -> dict[str, RecordedRate]:
    """By case, the last one of this model of CPU."""
    return {rate.case: rate for rate in rates if rate.cpu == cpu}


def keep(rates: Iterable[RecordedRate], path: Path) -> None:
    """Appends lines to the file: all of them, or none."""
    before = path.read_bytes() if path.is_file() else b""
    encoder = msgspec.json.Encoder()
    write_file(path, before + b"".join(encoder.encode(rate) + b"\n" for rate in rates))


def commit() -> str:
    """The commit of the checkout that runs (`+` where files differ from it), or the version outside of one."""
    here = Path(__file__).resolve().parent
    try:
        done = processes.run(
            ["git", "describe", "--always", "--dirty=+", "--match", "v[0-9]*"],
            cwd=here,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
    except FileNotFoundError:
        return __version__
    return done.stdout.strip() if done.returncode == 0 else __version__
