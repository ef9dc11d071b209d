"""What a collection is told: the one place that declares its options, as flags and as environment variables."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from hocket.base.errors import FormatError

__all__ = ["HOOKS", "OPTIONS", "OUT_VARIABLE", "SWITCHES", "Option", "Settings", "variable"]

# Set, it arms the collector in every process that imports torch, and names the folder.
OUT_VARIABLE = "HOCKET_COLLECT"

# What HOCKET_COLLECT_HOOK may ask for: the compiled hook if it was built, the compiled one and build it, the one in
# Python. Who starts a collection by Hocket's own launcher gets it built; nothing is compiled in a job unasked.
HOOKS = ("auto", "native", "python")

# What is off unless its variable is 1.
SWITCHES = ("ops", "stacks", "completion")


class Option(NamedTuple):
    """A whole number that tunes a collection: `--skip-steps 2` or `HOCKET_COLLECT_SKIP_STEPS=2`."""

    help: str
    minimum: int
    default: int | None

    def parse(self, text: str) -> int:
        """The number. Raises ValueError saying what was expected."""
        if not text.isdecimal() or int(text) < self.minimum:
            raise ValueError(f"'{text}' is not a whole number of at least {self.minimum}")
        return int(text)


OPTIONS = {
    "skip_steps": Option("Training steps to leave out first; 2 or more let DDP settle its buckets.", 0, 0),
    "steps": Option("Training steps to record; all when absent.", 1, None),
    "timeout": Option("Seconds that rank 0 waits at its end for the other ranks before it merges.", 0, 60),
}


@dataclass(frozen=True)
class Settings:
    """The folder, the value of each of OPTIONS, which of HOOKS; whether operators are recorded beside, the script's
    lines, and when collectives on CUDA are complete."""

    out: str
    skip_steps: int = 0
    steps: int | None = None
    timeout: int = 60
    hook: str = "auto"
    ops: bool = False
    stacks: bool = False
    completion: bool = False

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "Settings | None":
        """The settings in the environment, None without HOCKET_COLLECT. Raises FormatError naming a variable."""
        if not environment.get(OUT_VARIABLE):
            return None
        values = {}
        for name, option in OPTIONS.items():
            if text := environment.get(variable(name)):
                try:
                    values[name] = option.parse(text)
                except ValueError as error:
                    raise FormatError(f"environment variable {variable(name)}: {error}") from error
        hook = environment.get(variable("hook"), "auto")
        if hook not in HOOKS:
            raise FormatError(f"environment variable {variable('hook')}: '{hook}' is not one of {', '.join(HOOKS)}")
        switches = {name: environment.get(variable(name), "0") for name in SWITCHES}
        for name, text in switches.items():
            if text not in ("0", "1"):
                raise FormatError(f"environment variable {variable(name)}: '{text}' is neither 0 nor 1")
        ops, stacks, completion = (switches[name] == "1" for name in ("ops", "stacks", "completion"))
        return cls(environment[OUT_VARIABLE], **values, hook=hook, ops=ops, stacks=stacks, completion=completion)

    def to_environment(self) -> dict[str, str]:
        """The variables from which `from_environment` makes equal settings."""
        values = {variable(name): getattr(self, name) for name in (*OPTIONS, "hook")}
        values |= {variable(name): int(getattr(self, name)) for name in SWITCHES}
        return {OUT_VARIABLE: self.out} | {name: str(value) for name, value in values.items() if value is not None}


def variable(option: str) -> str:
    """Name of the environment variable of an option."""
    return f"{OUT_VARIABLE}_{option.upper()}"
