"""How the GPUs of this machine are joined: what the driver prints, what NCCL finds, and the topology made of either."""

from __future__ import annotations

from pathlib import Path
from shutil import which

from hocket.api.selftest.commands import ended, printed
from hocket.api.selftest.jobs import LibraryJob
from hocket.api.selftest.outcome import PartOutcome, PartPlace
from hocket.base.errors import HocketError
from hocket.base.files import write_file
from hocket.runtime.run.job import RunTask
from hocket.schedule import Kind
from hocket.topology import load
from hocket.topology.machines.hardware import CPUS, GPUS

__all__ = ["MATRIX", "XML", "find", "spec_of"]

MATRIX, XML, GRAPHS = "nvidia-smi-topo.txt", "nccl-topology.xml", "nccl-graphs.xml"


def find(place: PartPlace) -> PartOutcome:
    """Fails where neither tells a topology that Hocket can read."""
    faults = [*_driver(place), *_nccl(place)]
    spec, notes = spec_of(place.files, place.ranks, *place.versions.get("gpus", [])[:1])
    if spec is None:
        return PartOutcome.of_faults("no topology that can be read", (*faults, *notes))
    topology = load(spec)
    source = XML if spec.startswith("nccl:") else MATRIX
    kinds = f"{topology.num_ranks} ranks, {topology.num_links} links, from {source}"
    return PartOutcome.of_faults(kinds, (*faults, *notes))


def spec_of(files: Path, ranks: int, gpu: str = "") -> tuple[str | None, list[str]]:
    """What NCCL dumped, else what the driver printed of GPUs of this name, as `hocket simulate -t` takes it, and why
    not the others."""
    notes = []
    for name, spec in ((XML, f"nccl:{files / XML}"), (MATRIX, f"smi:{files / MATRIX}{_assumed(gpu)}")):
        if not (files / name).is_file():
            continue
        try:
            found = load(spec).num_ranks
        except HocketError as error:
            notes.append(f"{name}: {error}")
            continue
        if found == ranks:
            return spec, notes
        notes.append(f"{name}: has {found} GPUs, and the job {ranks}")
    return None, notes


def _assumed(gpu: str) -> str:
    """What the driver's matrix does not say: GPUs by their name, the rest as it is most often."""
    words = gpu.lower().replace("-", " ").split()
    kind = next((name for name in GPUS if name in words), "h100")
    return f",gpu={kind},cpu={'amd' if 'amd' in CPUS else next(iter(CPUS))},nic=400Gbit/s"


def _driver(place: PartPlace) -> list[str]:
    if which("nvidia-smi") is None:
        return ["nvidia-smi is not on PATH: it comes with the driver"]
    code, text = printed(("nvidia-smi", "topo", "-m"), 60.0)
    write_file(place.files / MATRIX, text)
    return [f"nvidia-smi topo -m {ended(code, text)}"] if code else []


def _nccl(place: PartPlace) -> list[str]:
    """A job of one call, in which NCCL writes what it found."""
    if len(place.versions.get("gpus", [])) < 2 or not place.versions.get("nccl"):
        return []
    task = RunTask(Kind.ALL_REDUCE, place.ranks, 0, place.library, (4096,), iterations=1, warmup=0)
    job = LibraryJob(place, (task,))
    variables = {"NCCL_TOPO_DUMP_FILE": str(place.files / XML), "NCCL_GRAPH_DUMP_FILE": str(place.files / GRAPHS)}
    return job.run(place.limit_s / 2, **variables)
