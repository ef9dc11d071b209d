"""One collective on one topology: what a sweep simulates."""

import hashlib
from dataclasses import dataclass
from os.path import isfile
from pathlib import Path

import msgspec

from hocket import __version__

__all__ = ["Point", "content_of"]


@dataclass(frozen=True, slots=True)
class Point:
    """A collective over all ranks of a topology (spec, preset or file); the rest as in `simulate_collective`,
    where `switching` and `queueing` may differ by class of links: `*=fifo,1=priority`."""

    topology: str
    collective: str
    size_bytes: int
    algorithm: str = "auto"
    model: str = "congestion"
    switching: str = "cut_through"
    queueing: str = "fifo"
    chunks_per_rank: int = 1
    root: int = 0

    @property
    def key(self) -> str:
        """Names the point, the content of the files it names, and the version of Hocket that answers it (32 hexadecimal
        digits)."""
        files = [content_of(self.topology), content_of(self.algorithm)]
        return hashlib.sha256(msgspec.json.encode([__version__, self, files])).hexdigest()[:32]


def content_of(text: str) -> str:
    """A digest of the file of that name; empty if there is none."""
    return hashlib.sha256(Path(text).read_bytes()).hexdigest() if isfile(text) else ""
