"""From schedules and programs of one collective to a folder that a runtime can use, whole or absent."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import msgspec

from hocket import __version__
from hocket.core.errors import HocketError, ScheduleError
from hocket.core.files import atomic_folder
from hocket.schedule import Kind, Program
from hocket.simulator import simulate_program
from hocket.topology import Topology
from hocket.translator.bundle.manifest import MANIFEST, PROGRAMS, Bundle, BundleFile, Predicted, read_bundle
from hocket.translator.bundle.readme import readme
from hocket.translator.bundle.script import run_script
from hocket.translator.bundle.sources import Source, Sources, read_sources
from hocket.translator.bundle.windows import Window, windows
from hocket.translator.lowering import Lowering
from hocket.translator.profiles import Profile, ProfileName, find_profile
from hocket.translator.proving import Translation, prove

__all__ = ["BundleReport", "write_bundle"]

_README, _SCRIPT = "README.md", "run.sh"


@dataclass(frozen=True, slots=True)
class BundleReport:
    """A bundle that was written, the proved programs of its files, and the sources that no file was made from, as
    others are the quicker at every size."""

    bundle: Bundle
    translations: tuple[Translation, ...]
    unused: tuple[Path, ...]


def write_bundle(
    paths: Sequence[Path],
    folder: Path | str,
    runtime: str | ProfileName | Profile,
    lowering: Lowering | None = None,
    *,
    topology: Topology | None = None,
    root: int | None = None,
) -> BundleReport:
    """Writes a folder of the sources' programs for the lowering's calls of `min_bytes` to `max_bytes` (0: the largest
    size of a source), in place, out of place or (None) both, each size served by the program that is the quickest by
    simulation. Files have names of their own.

    Every program is proved before anything is written. A folder that is there is replaced when it is a bundle.
    Raises FormatError, ScheduleError or DeadlockError, naming the file, and HocketError for a folder in the way.
    """
    profile, folder = find_profile(runtime), Path(folder)
    _check_free(folder)
    sources = read_sources(paths, topology, root)
    asked = lowering or Lowering()
    asked = replace(asked, max_bytes=asked.max_bytes or sources.members[-1].size_bytes)
    both = [True, False] if sources.collective.kind is not Kind.ALL_TO_ALL else [False]
    calls = both if asked.in_place is None else [asked.in_place]
    served = [_Call(sources, profile, replace(asked, in_place=call), profile.max_files // len(calls)) for call in calls]
    made = [(call, window) for call in served for window in call.windows]
    if not made:
        raise ScheduleError(f"{paths[0]}: no file is for {'in-place' if calls[0] else 'out-of-place'} calls")
    parts = [call.file(window, number, len(made)) for number, (call, window) in enumerate(made, 1)]
    bundle = Bundle(
        hocket=__version__,
        runtime=profile.name,
        collective=sources.collective.kind,
        ranks=sources.collective.num_ranks,
        root=sources.collective.root,
        topology=sources.topology.name,
        files=tuple(file for file, _ in parts),
    )
    translations = tuple(translation for _, translation in parts)
    _write(folder, bundle, translations)
    used = {file.source for file in bundle.files}
    return BundleReport(bundle, translations, tuple(path for path in paths if path.name not in used))


class _Call:
    """One kind of call: the programs for it, and which serves which sizes."""

    def __init__(self, sources: Sources, profile: Profile, lowering: Lowering, most: int) -> None:
        self._sources = sources
        self._profile = profile
        self._in_place = bool(lowering.in_place)
        least, largest = lowering.min_bytes, lowering.max_bytes
        lowered = [(source, source.lowered(profile, lowering)) for source in sources.members]
        self._members = [(source, translation) for source, translation in lowered if translation is not None]
        inside = {source.size_bytes for source, _ in self._members if least <= source.size_bytes <= largest}
        self._sizes = sorted(inside | {max(least, 1), largest})

        @cache
        def time_ps(number: int, size: int) -> int:
            program = self._members[number][1].program
            return self._time(program, -(-size // program.chunks_per_loop) * program.chunks_per_loop)

        self.windows = windows(time_ps, len(self._members), self._sizes, least, most) if self._members else []

    def file(self, window: Window, number: int, total: int) -> tuple[BundleFile, Translation]:
        """The proved program of a window, the `number`-th of `total` files."""
        source, lowered = self._members[window.program]
        call = "in-place" if self._in_place else "out-of-place"
        sizes = f"{window.min_bytes}-{window.max_bytes}"
        name = f"{number:0{len(str(total))}}-{lowered.program.kind}-{call}-{sizes}"
        translation = self._proved(source, lowered, name, window)
        program = translation.program
        loop = program.chunks_per_loop
        sizes_served = {size // loop * loop for size in self._sizes if window.min_bytes <= size <= window.max_bytes}
        sizes_served |= {-(-max(window.min_bytes, 1) // loop) * loop, window.max_bytes // loop * loop}
        scratch = max(gpu.scratch_chunks for gpu in program.gpus)
        return (
            BundleFile(
                path=f"{PROGRAMS}/{name}.xml",
                in_place=self._in_place,
                min_bytes=window.min_bytes,
                max_bytes=window.max_bytes,
                chunks=loop,
                protocol=program.protocol,
                channels=program.num_channels,
                thread_blocks=max(len(gpu.thread_blocks) for gpu in program.gpus),
                steps=max((len(block.steps) for gpu in program.gpus for block in gpu.thread_blocks), default=0),
                scratch_bytes=-(-window.max_bytes // loop) * scratch,
                source=source.path.name,
                predicted=tuple(Predicted(size, self._time(program, size)) for size in sorted(sizes_served - {0})),
            ),
            translation,
        )

    def _proved(self, source: Source, lowered: Translation, name: str, window: Window) -> Translation:
        program = replace(lowered.program, name=name, min_bytes=window.min_bytes, max_bytes=window.max_bytes)
        try:
            return prove(program, self._profile, lowered.slots)
        except ScheduleError as error:
            raise ScheduleError(f"{source.path}: {error}") from error

    def _time(self, program: Program, size: int) -> int:
        return simulate_program(
            program,
            self._sources.topology,
            size,
            protocols=self._profile.protocols,
            placement=self._sources.ranks,
        ).time_ps


def _check_free(folder: Path) -> None:
    """Raises HocketError when writing the bundle would remove what is no bundle's."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    if not (folder / MANIFEST).is_file():
        raise HocketError(f"{folder}: exists and is no bundle; give a new folder")
    known = {MANIFEST, _README, _SCRIPT, *(file.path for file in read_bundle(folder).files)}
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}
    if found - known:
        raise HocketError(
            f"{folder}: holds {min(found - known)}, which is not of the bundle; move it or give a new folder"
        )


def _write(folder: Path, bundle: Bundle, translations: Sequence[Translation]) -> None:
    with atomic_folder(folder) as temporary:
        (temporary / PROGRAMS).mkdir()
        for file, translation in zip(bundle.files, translations, strict=True):
            (temporary / file.path).write_text(translation.text, encoding="ascii")
        manifest = msgspec.json.format(msgspec.json.encode(bundle), indent=1)
        (temporary / MANIFEST).write_bytes(manifest + b"\n")
        (temporary / _README).write_text(readme(bundle), encoding="utf-8")
        (temporary / _SCRIPT).write_text(run_script(bundle), encoding="utf-8")
        (temporary / _SCRIPT).chmod(0o755)
