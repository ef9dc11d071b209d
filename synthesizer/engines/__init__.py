"""The engines, one a file, in the order in which `auto` tries them."""

from hocket.base.errors import ScheduleError
from hocket.base.registry import Registry
from hocket.schedule.algorithms import ALGORITHMS
from hocket.synthesizer.engine import NamedEngine
from hocket.synthesizer.engines.native import Native

__all__ = ["ENGINES", "engine_named", "engine_names"]

# The files of this folder that hold them. A new one is one line.
_FILES = ("symmetry", "rounds", "balancing", "matching", "trees", "packing", "routing", "native", "exact")
ENGINES: Registry[NamedEngine] = Registry.of_files(
    "engine", "hocket.synthesizer.engines", _FILES, "ENGINES", ScheduleError
)


def engine_names() -> tuple[str, ...]:
    """What `engine_named` knows: the engines, and each native algorithm alone."""
    return (*ENGINES, *(Native.of(algorithm).name for algorithm in ALGORITHMS.values()))


def engine_named(name: str) -> NamedEngine:
    """The engine of that name; `native:ring` is the native algorithm ring alone. Raises ScheduleError for others."""
    word, _, algorithm = name.partition(":")
    if word == "native" and algorithm in ALGORITHMS:
        return Native.of(ALGORITHMS[algorithm])
    return ENGINES.named(name, also=engine_names())
