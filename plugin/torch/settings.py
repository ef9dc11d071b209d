"""What a collection is told: one place for the command-line flags and the environment variables that mean the same."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from hocket.core.errors import FormatError

__all__ = ["OUT_VARIABLE", "Settings"]

# Set, it arms the collector in every process that imports torch.
OUT_VARIABLE = "HOCKET_COLLECT"


def _whole(help_text: str, default: int | None, minimum: int) -> int | None:
    return field(default=default, metadata={"help": help_text, "minimum": minimum})  # type: ignore[no-any-return] # field() lies on purpose


@dataclass(frozen=True)
class Settings:
    """Options of a collection; flag `--skip-steps` and variable `HOCKET_COLLECT_SKIP_STEPS` set the same field."""

    out: str
    skip_steps: int | None = _whole("Training steps to leave out first (DDP settles its buckets after two).", 0, 0)
    steps: int | None = _whole("Training steps to record; all when absent.", None, 1)
    timeout: int | None = _whole("Seconds rank 0 waits at its end for the other ranks before it merges.", 60, 0)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "Settings | None":
        """The settings in the environment, None when HOCKET_COLLECT is not set. Raises FormatError naming a variable."""
        if not environment.get(OUT_VARIABLE):
            return None
        values = {}
        for option in fields(cls)[1:]:
            text = environment.get(variable(option.name))
            if text:
                if not text.isdecimal() or int(text) < option.metadata["minimum"]:
                    expected = f"a whole number of at least {option.metadata['minimum']}"
                    raise FormatError(f"environment variable {variable(option.name)}='{text}' is not {expected}")
                values[option.name] = int(text)
        return cls(environment[OUT_VARIABLE], **values)

    def to_environment(self) -> dict[str, str]:
        """The variables from which `from_environment` makes equal settings."""
        values = {option.name: getattr(self, option.name) for option in fields(self)[1:]}
        return {OUT_VARIABLE: self.out} | {variable(k): str(v) for k, v in values.items() if v is not None}


def variable(option: str) -> str:
    """Name of the environment variable of an option."""
    return f"{OUT_VARIABLE}_{option.upper()}"
