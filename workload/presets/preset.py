"""What a published network is."""

from collections.abc import Callable
from dataclasses import dataclass

from hocket.base.registry import Entry
from hocket.workload.architecture import Architecture

__all__ = ["NetworkPreset"]


@dataclass(frozen=True)
class NetworkPreset(Entry):
    """A network by name: called, it gives the architecture. `published` is how many parameters its authors count."""

    make: Callable[[], Architecture]
    published: str

    def __call__(self) -> Architecture:
        return self.make()
