"""A point of a sweep over jobs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

import msgspec

from hocket.api.command_line import command_line
from hocket.api.generate.request import LlmGeneration
from hocket.api.step.request import StepReport
from hocket.api.sweep.rows import files_of, key_of
from hocket.base.reading import content_digest

__all__ = ["MADE", "JobPoint", "keys_of"]

MADE = "traces"
"""The folder that the commands of a point's job write and read; a sweep keeps its traces in memory."""


class JobPoint(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One job on one topology: made, unless its traces are there, and simulated as a step report does. `over_memory`:
    simulated even where it needs more memory than the accelerator has."""

    generation: LlmGeneration | None = None
    step: StepReport
    over_memory: bool = False

    @property
    def what(self) -> str:
        """The model, or the traces."""
        return self.generation.model if self.generation else self.step.simulated.traces

    @property
    def topology(self) -> str:
        return self.step.simulated.topology

    def commands(self) -> list[str]:
        """What a user types for the whole step report of this point."""
        made = [command_line(self.generation)] if self.generation else []
        return [*made, command_line(self.step)]

    def files(self) -> Iterator[str]:
        """Digests of the files that it names, as they are now."""
        digest = cache(lambda text: "" if self.generation and text == MADE else content_digest(text))
        if self.generation:
            yield from files_of(self.generation, digest)
        yield from files_of(self.step, digest)


def keys_of(points: Sequence[JobPoint]) -> list[str]:
    """As `rows.keys_of`."""
    return [key_of(msgspec.json.encode(point).decode(), point.files()) for point in points]
