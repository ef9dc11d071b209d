"""Programs of all collectives for this machine: synthesized, proved, and run without PyTorch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from hocket.api.selftest.outcome import PartOutcome, PartPlace
from hocket.api.selftest.parts.topology import spec_of
from hocket.base.collectives import NAMED_KINDS, Kind
from hocket.base.errors import HocketError
from hocket.base.files import copy_file, write_file
from hocket.base.text_table import text_table
from hocket.runtime.run import format_table, launch, prepare_bundle
from hocket.schedule import Collective, Schedule
from hocket.synthesizer.alike_groups import solve_alike
from hocket.topology import Topology, load
from hocket.translator import Lowering
from hocket.translator.bundle import Source, write_bundle

__all__ = ["make"]

#: For which schedules are searched; of GPUs for small calls and for large ones.
_SIZES = {False: (256 << 10,), True: (64 << 10, 16 << 20)}
_LARGEST = 1 << 30  # that a program is to serve
_AFFORDABLE_S = 2.0  # of an engine's search, as it is estimated
_RUN_SIZES = (4096, 1 << 20)
_TRANSPORT = "device"


def make(place: PartPlace) -> PartOutcome:
    """Fails for collectives of which no program can be made, or one computes wrongly. Where there is PyTorch, jobs run
    them in the parts that follow."""
    topology = load(_spec(place))
    runs = not place.on_gpus and not place.versions.get("torch")
    faults, rows = [], []
    for kind in NAMED_KINDS:
        bundle = place.path / "bundles" / kind
        try:
            programs = _bundled(kind, topology, bundle, place.on_gpus)
            faults += _run(bundle, place) if runs else []
        except HocketError as error:
            faults.append(f"{kind}: {error}")
            continue
        rows.append((kind, programs))
    _keep(place)
    write_file(place.files / "programs.txt", "\n".join(text_table(("collective", "programs"), rows, align="<")) + "\n")
    count = f"{sum(programs for _, programs in rows)} programs of {len(rows)} collectives, proved"
    ran = ", run by the device interpreter on the cores" if runs else ""
    return PartOutcome.of_faults(f"{count}{ran}", tuple(faults))


def _spec(place: PartPlace) -> str:
    """Of GPUs the topology that was found; else each rank a link to each other, as of NVSwitches or memory."""
    gpus, files = place.versions.get("gpus", []), place.beside("topology") / "files"
    found = spec_of(files, place.ranks, *gpus[:1])[0] if place.on_gpus else None
    link = "bandwidth=150GB/s,latency=1us" if place.on_gpus else "bandwidth=10GB/s,latency=10us"
    return found or f"fully_connected:{place.ranks},{link}"


def _bundled(kind: Kind, topology: Topology, folder: Path, on_gpus: bool) -> int:
    """Writes the bundle of a collective; how many programs are in it."""
    ranks = tuple(range(topology.num_ranks))
    sources = []
    for size in _SIZES[on_gpus]:
        collective = Collective(kind, topology.num_ranks, size)
        schedule: Schedule = solve_alike(collective, topology, [ranks], _AFFORDABLE_S)[ranks]
        sources.append(Source(Path(f"{kind}-{size}.schedule"), schedule.collective, schedule))
    # PyTorch's calls of these work in one buffer, those of the others from one to another.
    lowering = Lowering(max_bytes=_LARGEST, in_place=kind.shares_buffer)
    # Which of several ways to lower them is the quickest matters on GPUs: the search takes seconds.
    lowering = lowering if on_gpus else replace(lowering, channels=1, slots=1)
    return len(write_bundle(sources, folder, "executor", lowering).bundle.files)


def _run(bundle: Path, place: PartPlace) -> list[str]:
    """Runs the bundle's programs on real processes; what was wrong."""
    job = prepare_bundle(bundle, _TRANSPORT, place.ranks, _RUN_SIZES, iterations=1, warmup=0)
    rows = [*launch(job, place.limit_s / 4)]
    wrong = sum(row.wrong for row in rows)
    title = f"# hocket selftest, programs over {_TRANSPORT}: {job.task.kind} on {place.ranks} ranks\n#\n"
    write_file(place.files / f"{bundle.name}.txt", title + format_table(job.task, rows) + "\n")
    return [f"{bundle.name}: {wrong} wrong values"] if wrong else []


def _keep(place: PartPlace) -> None:
    """The programs are sent back, too."""
    for path in _programs(place.path / "bundles"):
        copy_file(path, place.files / "programs" / path.parent.parent.name / path.name)


def _programs(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*.xml")) if path.is_file())
