"""Instructions that cases take, counted by callgrind: the same under any load, so that a slower core is found without a
clock. The table beside this file has the counts of one compiler; those of another are not comparable."""

import os
import platform
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

import hocket._core
from hocket.base import processes
from hocket.base.errors import HocketError
from hocket.base.files import write_json
from hocket.base.scratch import scratch_folder
from hocket.bench.speed.registry import CASES

__all__ = [
    "TABLE",
    "TOLERANCE",
    "CountTable",
    "Counted",
    "compiler",
    "count",
    "more",
    "not_comparable",
    "read_table",
    "write_table",
]

TABLE = Path(__file__).with_name("instructions.json")
#: By what part a count may differ from the table's: less is noise of the C library and of Python's own instructions.
TOLERANCE = 0.05
_WITNESS = Path(__file__).parents[1] / "witness" / "counting.cpp"
_COMPILER = re.compile(rb"GCC: \([^)\0]*\) [0-9.]+|(?:[A-Za-z]+ )*clang version [0-9.]+")
_LIMIT_S = 1_800.0


class Counted(msgspec.Struct, frozen=True):
    """What callgrind counted of a case, and the units of work that it had."""

    instructions: int
    units: int

    @property
    def of_a_unit(self) -> float:
        return self.instructions / self.units


class CountTable(msgspec.Struct, frozen=True):
    """The counts of an engine that `compiler` made: `small` work, which is held against later counts, and `full` work,
    which is timed."""

    compiler: str
    small: dict[str, Counted]
    full: dict[str, Counted] = {}


def more(kept: Mapping[str, Counted], now: Mapping[str, Counted]) -> dict[str, float]:
    """By what part each case takes more instructions now (less: negative), of those that both have."""
    return {name: now[name].instructions / kept[name].instructions - 1 for name in kept if name in now}


def compiler() -> str:
    """What compiled the engine that is loaded, for which CPU, and the Python that calls it: what counts depend on."""
    content = Path(str(hocket._core.__file__)).read_bytes()
    found = _COMPILER.search(content)
    made_by = found[0].decode() if found else "an unknown compiler"
    return f"{made_by}, {platform.machine()}, Python {sys.version_info.major}.{sys.version_info.minor}"


def read_table(path: Path = TABLE) -> CountTable:
    """The counts that were kept."""
    return msgspec.json.decode(path.read_bytes(), type=CountTable)


def not_comparable(kept: CountTable) -> str:
    """Why counts made here and now say nothing beside the kept ones; empty where they do."""
    for program, package in (("valgrind", "valgrind"), ("g++", "g++")):
        if shutil.which(program) is None:
            return f"{program} is not here: apt-get install {package}"
    here = compiler()
    return "" if here == kept.compiler else f"counted for {kept.compiler}; the engine here is of {here}"


def count(names: Sequence[str] = (), *, full: bool = False) -> dict[str, Counted]:
    """Runs cases under callgrind, all that can be counted by default: small ones in some 20 CPU seconds, those that are
    timed in some minutes. Raises HocketError where valgrind or g++ is not there, or fails."""
    wanted = [case.name for case in CASES if case.prepare and (not names or case.name in names)]
    with scratch_folder("counting") as folder:
        library, counts = folder / "counting.so", folder / "counts"
        _run(["g++", "-O1", "-shared", "-fPIC", str(_WITNESS), "-o", str(library)])
        options = ["--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={counts}"]
        command = [sys.executable, "-m", "hocket.bench.speed.counted", str(library), "full" if full else "small"]
        printed = _run(["valgrind", *options, *command, *wanted], {"PYTHONHASHSEED": "0"})
        instructions = dict(map(_counted, folder.glob("counts.*")))
    units = dict(map(str.split, printed.splitlines()))
    return {name: Counted(instructions[name], int(units[name])) for name in wanted}


def write_table(table: CountTable, path: Path = TABLE) -> None:
    """Keeps counts, for later ones to be held against."""
    write_json(path, msgspec.to_builtins(table))


def _counted(path: Path) -> tuple[str, int]:
    """What one of callgrind's files says: which case it is of, and how many instructions."""
    text = path.read_text(encoding="utf-8", errors="replace")
    name = re.search(r"^desc: Trigger: Client Request: (\w+)$", text, re.MULTILINE)
    total = re.search(r"^totals: ([0-9]+)$", text, re.MULTILINE)
    return name[1] if name else "", int(total[1]) if total else 0


def _run(command: Sequence[str], environment: Mapping[str, str] | None = None) -> str:
    env = {**os.environ, **(environment or {})}
    try:
        done = processes.run(command, capture_output=True, text=True, timeout_s=_LIMIT_S, env=env)
    except FileNotFoundError as error:
        raise HocketError(f"counting instructions needs {command[0]}: apt-get install {command[0]}") from error
    if done.returncode:
        raise HocketError(f"{command[0]} ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    return str(done.stdout)
