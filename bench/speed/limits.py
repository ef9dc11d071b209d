"""What one core of this CPU can do at most, measured in the same run as the rates."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from hocket.base import processes
from hocket.base.errors import HocketError
from hocket.base.scratch import scratch_folder

__all__ = ["CoreLimits", "measure_limits"]

_WITNESS = Path(__file__).parents[1] / "witness" / "limits.cpp"


@dataclass(frozen=True)
class CoreLimits:
    """Of one core, a CPU second: instructions (that wait for nothing), bytes read from memory by
    a sum, bytes read and written by a copy, and loads of which each needs the one before, anywhere in 64 MiB."""

    instructions: float
    bytes_read: float
    bytes_copied: float
    loads_in_turn: float

    @property
    def memory_bytes(self) -> float:
        """The most that any loop moved."""
        return max(self.bytes_read, self.bytes_copied)


def measure_limits() -> CoreLimits | None:
    """Two CPU seconds; None where no g++ is there to compile the loops. Raises HocketError where they do not run."""
    if shutil.which("g++") is None:
        return None
    with scratch_folder("limits") as folder:
        program = folder / "limits"
        built = processes.run(
            ["g++", "-std=c++20", "-O2", str(_WITNESS), "-o", str(program)], capture_output=True, text=True
        )
        if built.returncode:
            raise HocketError(f"{_WITNESS.name} does not compile: {built.stderr.strip()[:300]}")
        printed = processes.run([str(program)], check=True, capture_output=True, text=True).stdout
    return CoreLimits(**{name: float(value) for name, value in map(str.split, printed.splitlines())})
