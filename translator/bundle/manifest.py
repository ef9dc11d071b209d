"""`bundle.json`: what a bundle holds, for programs."""

from math import lcm
from pathlib import Path
from typing import Annotated

import msgspec

from hocket.base.errors import FormatError
from hocket.base.reading import read_text
from hocket.schedule import Kind
from hocket.translator.targets import RUNTIMES

__all__ = [
    "MANIFEST",
    "PROGRAMS",
    "TUNER_TABLE",
    "Bundle",
    "BundleFile",
    "Predicted",
    "SettingTime",
    "StockSetting",
    "is_bundle",
    "read_bundle",
]

MANIFEST = "bundle.json"
PROGRAMS = "algorithms"  # the folder of its programs: runtimes read all files there
TUNER_TABLE = "tuner.csv"  # of settings of stock NCCL, for its tuner plugin
FORMAT = "hocket.bundle"
VERSION = 1

_Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
_Positive = Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)]


class Predicted(msgspec.Struct, frozen=True):
    """What a call of `size_bytes` takes by simulation; `schedule_ps`: what the schedule that the file was made from
    takes by itself, where links alone count (None: the source is no schedule of this network)."""

    size_bytes: _Positive
    time_ps: _Count
    schedule_ps: _Count | None = None


class BundleFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of a bundle, `path` below its folder, and the calls it is for: of `min_bytes` to `max_bytes` (inclusive),
    whose elements its `chunks` divide, into chunks of a multiple of `alignment` bytes. `source` is the file it was made
    from; `scratch_bytes` of a rank at most."""

    path: str
    in_place: bool
    min_bytes: _Count
    max_bytes: _Positive
    chunks: _Positive
    alignment: _Positive = 1
    protocol: str
    channels: _Positive
    thread_blocks: _Count
    steps: _Count
    scratch_bytes: _Count
    source: str
    predicted: tuple[Predicted, ...]

    @property
    def call(self) -> str:
        return "in-place" if self.in_place else "out-of-place"

    def serves(self, size_bytes: int, element_bytes: int, in_place: bool) -> bool:
        """Whether a runtime would take the file for a call on its number of ranks."""
        inside = self.in_place == in_place and self.min_bytes <= size_bytes <= self.max_bytes
        return inside and size_bytes % (self.chunks * lcm(element_bytes, self.alignment)) == 0


class SettingTime(msgspec.Struct, frozen=True):
    """What stock NCCL takes for a call of `size_bytes` by a setting, and by its own choice, `own`."""

    size_bytes: _Positive
    time_ps: _Count
    own: str
    own_ps: _Count


class StockSetting(msgspec.Struct, frozen=True, kw_only=True):
    """A rule of a bundle's tuner table: stock NCCL takes `algorithm`, such as Ring/LL128, for calls of `min_bytes` to
    `max_bytes` (inclusive), which no program serves."""

    algorithm: str
    min_bytes: _Count
    max_bytes: _Positive
    predicted: tuple[SettingTime, ...]


class Bundle(msgspec.Struct, frozen=True, kw_only=True):
    """A collective's programs for one runtime; `files` in the order in which the runtime looks at them. `tuned`: the
    rules of its tuner table, where stock NCCL is left a size at which it has a quicker setting than its own choice.

    `nodes`: machines of the topology that the ranks are on; `ranks_per_node`: of each (0: they differ). `groups`: ranks
    of the job, in group order, of the groups that it is for (none: of any that is as large); GPU runtimes know none."""

    format: str = FORMAT
    version: int = VERSION
    hocket: str
    runtime: str
    collective: Kind
    ranks: _Positive
    root: _Count
    topology: str
    nodes: _Positive = 1
    ranks_per_node: _Count = 0
    groups: tuple[tuple[_Count, ...], ...] = ()
    files: tuple[BundleFile, ...]
    tuned: tuple[StockSetting, ...] = ()

    def serving(self, size_bytes: int, element_bytes: int, in_place: bool) -> BundleFile | None:
        """The file that a call would run; None: the runtime's own algorithm."""
        return next((file for file in self.files if file.serves(size_bytes, element_bytes, in_place)), None)


def is_bundle(folder: Path) -> bool:
    return (folder / MANIFEST).is_file()


def read_bundle(folder: Path | str) -> Bundle:
    """The bundle in a folder. Raises FormatError, naming the file, when it holds none that can be read, or one that
    names files outside the folder."""
    path = Path(folder) / MANIFEST
    if not path.is_file():
        raise FormatError(f"{folder}: has no {MANIFEST}; give a folder that `hocket translate --bundle` wrote")
    try:
        bundle = msgspec.json.decode(read_text(path), type=Bundle)
    except msgspec.DecodeError as error:
        raise FormatError(f"{path}: {error}") from error
    if (bundle.format, bundle.version) != (FORMAT, VERSION):
        raise FormatError(
            f"{path}: format {bundle.format}, version {bundle.version}; this Hocket reads {FORMAT}, version {VERSION}"
        )
    RUNTIMES.named(bundle.runtime, str(path))
    for group in bundle.groups:
        if len(group) != bundle.ranks:
            raise FormatError(f"{path}: a group of {len(group)} ranks in a bundle for {bundle.ranks}")
    inside = path.parent.resolve()
    for file in bundle.files:
        place = (inside / file.path).resolve()
        if inside not in place.parents or ".." in Path(file.path).parts:
            raise FormatError(
                f"{path}: '{file.path}' is outside the bundle, or leads out of it; translate the bundle again"
            )
    return bundle
