"""What a collection is told: the one place that declares its options, as flags and as environment variables."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from hocket.base.errors import FormatError
from hocket.base.units import parse_bytes
from hocket.recording.jobs import JOB_VARIABLE, check_name
from hocket.recording.windows import Windows

__all__ = ["HOOKS", "OPTIONS", "OUT_VARIABLE", "SWITCHES", "Option", "Settings", "variable"]

# Set, it arms the collector in every process that imports torch, and names the folder.
OUT_VARIABLE = "HOCKET_COLLECT"

# What HOCKET_COLLECT_HOOK may ask for: the compiled hook if it was built, else it is built beside the job, for the
# next; the compiled one, which is built first, as Hocket's own launcher has it; the one in Python.
HOOKS = ("auto", "native", "python")

# What is off unless its variable is 1.
SWITCHES = ("ops", "stacks", "completion", "no_nccl", "no_build", "no_device_times", "triggers")


class Option(NamedTuple):
    """A whole number that tunes a collection: `--skip-steps 2` or `HOCKET_COLLECT_SKIP_STEPS=2`."""

    help: str
    minimum: int
    default: int | None
    metavar: str = "N"

    def parse(self, text: str) -> int:
        """The number. Raises ValueError saying what was expected."""
        if not text.isdecimal() or int(text) < self.minimum:
            raise ValueError(f"'{text}' is not a whole number of at least {self.minimum}")
        return int(text)


class AnyOption(Protocol):
    """What OPTIONS has: its help, what stands for its value there, and what makes a value of its text."""

    @property
    def help(self) -> str: ...

    @property
    def metavar(self) -> str: ...

    def parse(self, text: str) -> Any:
        """The value. Raises ValueError saying what was expected."""


class SizeOption(NamedTuple):
    """A size in bytes: `--max-bytes 256MiB`."""

    help: str
    minimum: int
    metavar: str = "SIZE"

    def parse(self, text: str) -> int:
        """The number of bytes. Raises ValueError saying what was expected."""
        try:
            size = parse_bytes(text)
        except FormatError as error:
            raise ValueError(str(error)) from error
        if size < self.minimum:
            raise ValueError(f"'{text}' is less than {self.minimum} bytes")
        return size


class WindowsOption(NamedTuple):
    """Windows of steps: `--windows 100:5`."""

    help: str
    metavar: str = "STEPS"

    def parse(self, text: str) -> Windows:
        """The windows. Raises ValueError saying what was expected."""
        return Windows.parse(text)


class SignalOption(NamedTuple):
    """A signal's name: `--signal SIGUSR1`."""

    help: str
    metavar: str = "NAME"

    def parse(self, text: str) -> str:
        """The name. Raises ValueError saying what was expected."""
        if text not in SIGNALS:
            raise ValueError(f"'{text}' is not one of {', '.join(SIGNALS)}")
        return text


#: Signals that may ask for a window.
SIGNALS = ("SIGUSR1", "SIGUSR2")

OPTIONS: dict[str, AnyOption] = {
    "skip_steps": Option("Training steps to leave out first; 2 or more let DDP settle its buckets.", 0, 0),
    "steps": Option("Training steps to record; all when absent.", 1, None),
    "timeout": Option("Seconds that rank 0 waits at its end for the other ranks before it merges.", 0, 60),
    "max_bytes": SizeOption("Bytes of disk that a rank's stream may take, as 256MiB: the oldest calls go.", 1 << 16),
    "windows": WindowsOption("Windows of steps to record: of every 100 steps 5 by 100:5, or 10-19,500-509."),
    "trigger_steps": Option("Training steps of a window that is triggered.", 1, 10),
    "signal": SignalOption("Signal to any rank that triggers a window: SIGUSR1 or SIGUSR2."),
    "slow_step": Option("Trigger a window where a step takes this many times the median.", 2, None),
}


@dataclass(frozen=True)
class Settings:
    """The folder of jobs, the value of each of OPTIONS, which of HOOKS, the job's name ("": the first rank makes one);
    whether operators are recorded beside, the script's lines, when asynchronous collectives on devices end; whether
    NCCL is left without our profiler, no native hook is built beside a job that lacks it, and devices are not asked
    for times."""

    out: str
    skip_steps: int = 0
    steps: int | None = None
    timeout: int = 60
    hook: str = "auto"
    job: str = ""
    ops: bool = False
    stacks: bool = False
    completion: bool = False
    no_nccl: bool = False
    no_build: bool = False
    no_device_times: bool = False
    triggers: bool = False
    max_bytes: int = 0
    windows: Windows | None = None
    trigger_steps: int = 10
    signal: str = ""
    slow_step: int | None = None

    @property
    def may_trigger(self) -> bool:
        """Whether windows may be asked for while the job runs."""
        return self.triggers or bool(self.signal) or self.slow_step is not None

    @property
    def records_always(self) -> bool:
        """Whether steps are recorded that are in no window: where windows are not asked for, now or later; and where
        there is a cap and triggers keep what it would drop."""
        return self.windows is None and (self.max_bytes > 0 or not self.may_trigger)

    @property
    def in_segments(self) -> bool:
        """Whether a rank's stream is cut into files."""
        return self.max_bytes > 0 or self.windows is not None or self.may_trigger

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "Settings | None":
        """The settings in the environment, None without HOCKET_COLLECT. Raises FormatError naming a variable."""
        if not environment.get(OUT_VARIABLE):
            return None
        values: dict[str, Any] = {}
        for name, option in OPTIONS.items():
            if text := environment.get(variable(name)):
                try:
                    values[name] = option.parse(text)
                except ValueError as error:
                    raise FormatError(f"environment variable {variable(name)}: {error}") from error
        hook = environment.get(variable("hook"), "auto")
        if hook not in HOOKS:
            raise FormatError(f"environment variable {variable('hook')}: '{hook}' is not one of {', '.join(HOOKS)}")
        job = environment.get(JOB_VARIABLE, "")
        if job:
            check_name(job)
        switches = {name: environment.get(variable(name), "0") for name in SWITCHES}
        for name, text in switches.items():
            if text not in ("0", "1"):
                raise FormatError(f"environment variable {variable(name)}: '{text}' is neither 0 nor 1")
        chosen: dict[str, Any] = {name: text == "1" for name, text in switches.items()} | values
        return cls(environment[OUT_VARIABLE], hook=hook, job=job, **chosen)

    def to_environment(self) -> dict[str, str]:
        """The variables from which `from_environment` makes equal settings."""
        values: dict[str, Any] = {variable(name): getattr(self, name) for name in (*OPTIONS, "hook", "job")}
        values |= {variable(name): int(getattr(self, name)) for name in SWITCHES}
        values[variable("max_bytes")] = self.max_bytes or None
        return {OUT_VARIABLE: self.out} | {
            name: str(value) for name, value in values.items() if value not in (None, "")
        }


def variable(option: str) -> str:
    """Name of the environment variable of an option."""
    return f"{OUT_VARIABLE}_{option.upper()}"
