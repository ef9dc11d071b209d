"""One collective on one topology: what a sweep simulates."""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

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
        content = json.dumps([__version__, asdict(self), files], sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()[:32]


def content_of(text: str) -> str:
    """A digest of the file of that name; empty if there is none."""
    path = Path(text)
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
