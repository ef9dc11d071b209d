"""From schedules and programs of one collective to a folder that a runtime can use, whole or absent."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import msgspec

from hocket import __version__
from hocket.core.errors import DeadlockError, HocketError, ScheduleError
from hocket.core.files import atomic_folder
from hocket.schedule import Kind, Program
from hocket.simulator import simulate_program
from hocket.topology import Topology
from hocket.translator.bundle.manifest import MANIFEST, PROGRAMS, Bundle, BundleFile, Predicted, read_bundle
from hocket.translator.bundle.plan_files import REGISTRATION, plan_readme, plan_script, registration
from hocket.translator.bundle.plan_target import PlanTarget
from hocket.translator.bundle.readme import readme
from hocket.translator.bundle.script import run_script
from hocket.translator.bundle.sources import Source, Sources, read_sources
from hocket.translator.bundle.target import Lowered, Target, Written, XmlTarget
from hocket.translator.bundle.windows import Window, multiples, windows
from hocket.translator.lowering import Lowering
from hocket.translator.mscclpp import PLAN_RUNTIME
from hocket.translator.profiles import Profile, ProfileName, find_profile

__all__ = ["BundleReport", "write_bundle"]

_README, _SCRIPT = "README.md", "run.sh"


@dataclass(frozen=True, slots=True)
class BundleReport:
    """A bundle that was written, how many executions proved its files, how many files the runtime loads, and the
    sources that no file was made from, as others are the quicker at every size."""

    bundle: Bundle
    proofs: int
    max_files: int
    unused: tuple[Path, ...]


def write_bundle(
    paths: Sequence[Path],
    folder: Path | str,
    runtime: str | ProfileName | Profile,
    lowering: Lowering | None = None,
    *,
    topology: Topology | None = None,
    root: int | None = None,
    ranks_per_node: int | None = None,
) -> BundleReport:
    """Writes a folder of the sources' programs for the lowering's calls of `min_bytes` to `max_bytes` (0: the largest
    size of a source), in place, out of place or (None) both, each size served by the program that is the quickest by
    simulation. Files have names of their own.

    Every program is proved before anything is written. A folder that is there is replaced when it is a bundle.
    Raises FormatError, ScheduleError or DeadlockError, naming the file, and HocketError for a folder in the way.
    """
    folder = Path(folder)
    _check_free(folder)
    sources = read_sources(paths, topology, root)
    target = _target(runtime, sources, ranks_per_node)
    asked = lowering or Lowering()
    asked = replace(asked, max_bytes=asked.max_bytes or sources.members[-1].size_bytes)
    both = [True, False] if sources.collective.kind is not Kind.ALL_TO_ALL else [False]
    calls = both if asked.in_place is None else [asked.in_place]
    served = [_Call(sources, target, replace(asked, in_place=call), target.max_files // len(calls)) for call in calls]
    made = [(call, window) for call in served for window in call.windows]
    if not made:
        raise ScheduleError(f"{paths[0]}: no file is for {'in-place' if calls[0] else 'out-of-place'} calls")
    parts = [call.file(window, number, len(made)) for number, (call, window) in enumerate(made, 1)]
    bundle = Bundle(
        hocket=__version__,
        runtime=target.name,
        collective=sources.collective.kind,
        ranks=sources.collective.num_ranks,
        root=sources.collective.root,
        topology=sources.topology.name,
        ranks_per_node=target.ranks_per_node,
        files=tuple(file for file, _ in parts),
    )
    written = [written for _, written in parts]
    _write(folder, bundle, written)
    used = {file.source for file in bundle.files}
    unused = tuple(path for path in paths if path.name not in used)
    return BundleReport(bundle, sum(one.proofs for one in written), target.max_files, unused)


def _target(runtime: str | ProfileName | Profile, sources: Sources, ranks_per_node: int | None) -> Target:
    if runtime == PLAN_RUNTIME:
        return PlanTarget(sources, ranks_per_node)
    return XmlTarget(find_profile(runtime))


class _Call:
    """One kind of call: the programs for it, and which serves which sizes."""

    def __init__(self, sources: Sources, target: Target, lowering: Lowering, most: int) -> None:
        self._sources = sources
        self._target = target
        self._in_place = bool(lowering.in_place)
        least, largest = lowering.min_bytes, lowering.max_bytes
        lowered = [(source, self._lowered(source, lowering)) for source in sources.members]
        self._members = [(source, program) for source, program in lowered if program is not None]
        inside = {source.size_bytes for source, _ in self._members if least <= source.size_bytes <= largest}
        self._sizes = sorted(inside | {max(least, 1), largest})

        @cache
        def time_ps(number: int, size: int) -> int:
            program = self._members[number][1].program
            return self._time(program, -(-size // program.chunks_per_loop) * program.chunks_per_loop)

        self.windows = windows(time_ps, len(self._members), self._sizes, least, most) if self._members else []

    def _lowered(self, source: Source, lowering: Lowering) -> Lowered | None:
        try:
            return self._target.lowered(source, lowering)
        except (ScheduleError, DeadlockError) as error:
            call = "in-place" if self._in_place else "out-of-place"
            raise _same(error)(f"{source.path}: {call} calls: {error}") from error

    def file(self, window: Window, number: int, total: int) -> tuple[BundleFile, Written]:
        """The proved program of a window, the `number`-th of `total` files."""
        source, lowered = self._members[window.program]
        call = "in-place" if self._in_place else "out-of-place"
        sizes = f"{window.min_bytes}-{window.max_bytes}"
        name = f"{number:0{len(str(total))}}-{lowered.program.kind}-{call}-{sizes}"
        try:
            written = lowered.written(name, window)
        except (ScheduleError, DeadlockError) as error:
            raise _same(error)(f"{source.path}: {error}") from error
        loop = written.chunks * written.alignment
        first, last = multiples(window.min_bytes, window.max_bytes, loop)
        if first > last:
            raise ScheduleError(
                f"{source.path}: {call} calls of {window.min_bytes} to {window.max_bytes} bytes are never a multiple "
                f"of {loop} bytes, as the program needs; give a wider range of sizes, or a schedule of fewer chunks"
            )
        sizes_served = {first, last, *(size // loop * loop for size in self._sizes if first <= size <= last)}
        return (
            BundleFile(
                path=f"{PROGRAMS}/{name}{self._target.suffix}",
                in_place=self._in_place,
                min_bytes=window.min_bytes,
                max_bytes=window.max_bytes,
                chunks=written.chunks,
                alignment=written.alignment,
                protocol=written.protocol,
                channels=written.channels,
                thread_blocks=written.thread_blocks,
                steps=written.steps,
                scratch_bytes=-(-window.max_bytes // written.chunks) * written.scratch_chunks,
                source=source.path.name,
                predicted=tuple(Predicted(size, self._time(lowered.program, size)) for size in sorted(sizes_served)),
            ),
            written,
        )

    def _time(self, program: Program, size: int) -> int:
        return simulate_program(
            program,
            self._sources.topology,
            size,
            protocols=self._target.protocols,
            placement=self._sources.ranks,
        ).time_ps


def _same(error: ScheduleError | DeadlockError) -> type[ScheduleError | DeadlockError]:
    """The kind of an error that is raised again with the file's name."""
    return DeadlockError if isinstance(error, DeadlockError) else ScheduleError


def _check_free(folder: Path) -> None:
    """Raises HocketError when writing the bundle would remove what is no bundle's."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    if not (folder / MANIFEST).is_file():
        raise HocketError(f"{folder}: exists and is no bundle; give a new folder")
    known = {MANIFEST, _README, _SCRIPT, REGISTRATION, *(file.path for file in read_bundle(folder).files)}
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}
    if found - known:
        raise HocketError(
            f"{folder}: holds {min(found - known)}, which is not of the bundle; move it or give a new folder"
        )


def _write(folder: Path, bundle: Bundle, written: Sequence[Written]) -> None:
    with atomic_folder(folder) as temporary:
        (temporary / PROGRAMS).mkdir()
        for file, one in zip(bundle.files, written, strict=True):
            (temporary / file.path).write_text(one.text, encoding="ascii")
        manifest = msgspec.json.format(msgspec.json.encode(bundle), indent=1)
        (temporary / MANIFEST).write_bytes(manifest + b"\n")
        of_plans = bundle.runtime == PLAN_RUNTIME
        (temporary / _README).write_text((plan_readme if of_plans else readme)(bundle), encoding="utf-8")
        (temporary / _SCRIPT).write_text((plan_script if of_plans else run_script)(bundle), encoding="utf-8")
        if of_plans:
            (temporary / REGISTRATION).write_text(registration(bundle), encoding="utf-8")
        (temporary / _SCRIPT).chmod(0o755)
