"""Checks a topology, and writes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hocket.api import exported
from hocket.api.progress import Progress
from hocket.api.provenance import comment
from hocket.api.reading import load_topology
from hocket.api.result import Report
from hocket.api.topology.request import TopologyCheck, TopologySave
from hocket.base.errors import ExitCode, HocketError
from hocket.base.files import write_file
from hocket.topology import Topology, UnknownTopology, load
from hocket.topology import save as write
from hocket.topology.formats.infragraph.write import infragraph_lost, infragraph_text
from hocket.topology.formats.nccl.write import topology_text
from hocket.topology.machines.loading import load_machine

__all__ = ["check", "notes_of", "save"]

_INFRAGRAPH = (".infragraph.yaml", ".infragraph.json")


@dataclass(eq=False, repr=False)
class SavedTopology(Report):
    """A topology in a file."""

    def headline(self) -> str:
        return self.lines[-1]

    def simulate(self, what: Any, *size: Any, **options: Any) -> Any:
        """`hocket.simulate` on it."""
        return exported("simulate")(what, Path(self.request.output), *size, **options)  # type: ignore[attr-defined]


@dataclass(eq=False, repr=False)
class CheckedTopology(Report):
    """A topology that is right, or none and what is wrong with it, in `warnings`."""

    topology: Topology | None = None
    warnings: list[str] = field(default_factory=list)

    def details(self) -> Mapping[str, Any]:
        topology = self.topology
        if topology is None:
            return {"is_right": False}
        size = {"num_ranks": topology.num_ranks, "num_links": topology.num_links}
        return {"is_right": True, "name": topology.name, **size, "fingerprint": topology.fingerprint}

    def headline(self) -> str:
        return self.lines[-1] if self.lines else "not a right topology"


def check(request: TopologyCheck, progress: Progress) -> CheckedTopology:
    try:
        topology = load(request.topology)
    except UnknownTopology:  # nothing there that could be checked
        raise
    except HocketError as error:
        return CheckedTopology(request, [], ExitCode.CHECK_FAILED, warnings=[f"failed: {error}"])
    size = f"{topology.num_ranks} ranks, {topology.num_links} links"
    said = f"ok: {topology.name}: {size}, all ranks connected"
    return CheckedTopology(request, [*notes_of(topology.notes), said], topology=topology)


def save(request: TopologySave, progress: Progress) -> SavedTopology:
    output = request.output
    if output.endswith(".xml"):
        return _save_xml(request)
    topology = load_topology(request.topology, request.failures)
    notes = topology.notes
    if output.endswith(_INFRAGRAPH):
        write_file(output, infragraph_text(topology, as_json=output.endswith(".json")))
        notes = (*notes, *infragraph_lost(topology))
    else:
        write(topology, Path(output), comment(request))
    said = f"wrote {output}: {topology.num_ranks} ranks, {topology.num_links} links"
    return SavedTopology(request, [*notes_of(notes), said])


def _save_xml(request: TopologySave) -> SavedTopology:
    output = request.output
    request.take_only(("topology", "output"), f"{output}: NCCL's XML is of a whole node")
    machine = load_machine(request.topology)
    write_file(output, topology_text(machine))
    gpus, nets = len(list(machine.gpus())), len(list(machine.nets()))
    said = f"wrote {output}: {gpus} GPUs, {nets} network devices, as NCCL's topology file"
    return SavedTopology(request, [*notes_of(machine.notes), said])


def notes_of(notes: tuple[str, ...]) -> list[str]:
    return [f"note: {note}" for note in notes]
