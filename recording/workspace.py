"""The folder `merging` beside what a merge writes: ranks' parts and traces as they are done, from which a merge that
was killed goes on. It is removed when all has its names."""

import hashlib
import secrets
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from hocket.base.errors import FormatError
from hocket.base.files import write_file
from hocket.recording.parts.head import PartSource
from hocket.recording.parts.part import Part, PartSection, open_part
from hocket.recording.rank_findings import RankFindings

__all__ = ["Workspace"]

_FINDINGS = msgspec.json.Decoder(RankFindings)


class Workspace:
    """Where a merge into `folder` keeps what is done."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "merging"
        self._traces = self.folder

    def common_path(self, rank: int) -> Path:
        """Where the part of a rank lies without what caps took from others."""
        return self.folder / f"common{rank}.part"

    def part_path(self, rank_file: Path) -> Path:
        """Where the part of a stream lies, by the stream's place: several may have one rank's name."""
        place = hashlib.sha256(str(rank_file.absolute().parent).encode()).hexdigest()[:8]
        return self.folder / f"{rank_file.stem}.{place}.part"

    def joined_path(self, rank: int) -> Path:
        """Where the part of a rank lies that a profile was joined to."""
        return self.folder / f"joined{rank}.part"

    def known_part(self, path: Path, sources: Sequence[PartSource]) -> Part | None:
        """The part there, if it was made of these files as they are."""
        with suppress(FormatError, msgspec.DecodeError):
            part = open_part(PartSection.whole(path))
            if part.head.sources == tuple(sources):
                return part
        return None

    def begin_traces(self, inputs: object | None) -> None:
        """The traces are of these inputs, of which each has a text of its own: those of others are removed. None: of
        what can change unseen, so that nothing is kept."""
        key = secrets.token_hex(8) if inputs is None else hashlib.sha256(repr(inputs).encode()).hexdigest()[:16]
        self._traces = self.folder / f"traces-{key}"
        for other in self.folder.glob("traces-*"):
            if other != self._traces:
                shutil.rmtree(other, ignore_errors=True)

    def trace_path(self, rank: int) -> Path:
        """Where a rank's trace lies until all are done."""
        return self._traces / f"trace.{rank}.et"

    def known_findings(self, rank: int) -> RankFindings | None:
        """What was found of a rank whose trace is done."""
        with suppress(OSError, msgspec.DecodeError):
            return _FINDINGS.decode(self._findings_path(rank).read_bytes())
        return None

    def finish_trace(self, found: RankFindings) -> None:
        """The rank's trace is done."""
        write_file(self._findings_path(found.rank), msgspec.json.encode(found))

    def _findings_path(self, rank: int) -> Path:
        return self._traces / f"rank{rank}.json"

    def remove(self) -> None:
        """Nothing of it is needed any more."""
        shutil.rmtree(self.folder, ignore_errors=True)
