"""NCCL's or RCCL's host code built from its sources over stand-ins, or found built."""

import fcntl
import hashlib
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from hocket.base.errors import HocketError
from hocket.base.files import growing_file, make_folder
from hocket.base.processes import run
from hocket.nccl.stock.builder import STAND_INS, Builder, Headers, Progress
from hocket.nccl.stock.nccl_builder import HostCodeBuilder
from hocket.nccl.stock.rccl_builder import RcclBuilder
from hocket.nccl.stock.sources import NcclSources, RcclSources

__all__ = ["StockBuild", "build"]

_HERE = Path(__file__).parent


@dataclass(frozen=True)
class StockBuild:
    """`folder` holds the library, what it is linked to, the net plugin and the `player` that runs calls; `absent`:
    functions that this release refers to and the stand-ins lack."""

    sources: NcclSources
    folder: Path
    absent: tuple[str, ...]

    @property
    def player(self) -> Path:
        return self.folder / "player"

    @property
    def net_plugin(self) -> Path:
        return self.folder / "libnccl-net-hocket.so"


def build(sources: NcclSources, headers: Headers, under: Path, progress: Progress) -> StockBuild:
    """Builds into folders of its own under `under`, or finds it built. What the sources compiled to is kept apart from
    what it is linked with, so that a change of the stand-ins, or an interruption, compiles none of it again.
    Raises HocketError with the compiler's words where the sources do not compile."""
    if shutil.which("g++") is None:
        raise HocketError(f"g++ is needed to build {sources.library}: apt-get install g++")
    builder = RcclBuilder if isinstance(sources, RcclSources) else HostCodeBuilder
    digest = _digest(_library_parts(sources, headers, builder))
    compiled = under / f"{sources.library.lower()}-{sources.name}-{digest}"
    folder = compiled / f"linked-{_digest(_own_parts())}"
    absent = folder / "absent.txt"
    if not absent.exists():
        with growing_file(make_folder(compiled) / "lock") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not absent.exists():
                builder(sources, headers, compiled, folder, progress).all()
    return StockBuild(sources, folder, tuple(absent.read_text(encoding="utf-8").split()))


def _library_parts(sources: NcclSources, headers: Headers, builder: type[Builder]) -> Iterator[bytes]:
    compiler = run(["g++", "-dumpfullversion"], capture_output=True, text=True).stdout.strip()
    flags = (builder.flags_of(headers.version), builder.own_flags)
    yield repr((headers.version, flags, compiler, sources.host_files)).encode()
    yield from _files(sources.src, (".cc", ".h", ".hpp", ".cu", ".cuh", ".py", ".in"))
    yield from builder.made_with()


def _own_parts() -> Iterator[bytes]:
    yield from _files(STAND_INS, (".cpp", ".hpp"))
    for name in ("builder.py", "nccl_builder.py", "rccl_builder.py"):
        yield (_HERE / name).read_bytes()


def _files(folder: Path, suffixes: Iterable[str]) -> Iterator[bytes]:
    for path in sorted(folder.rglob("*")):
        if path.suffix in suffixes and path.is_file():
            yield str(path.relative_to(folder)).encode() + path.read_bytes()


def _digest(parts: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()[:12]
