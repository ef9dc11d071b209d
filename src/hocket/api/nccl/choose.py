"""Which algorithm and protocol NCCL, or on AMD's machines RCCL, takes for each size, the time that it expects, and
why."""

from collections.abc import Sequence
from pathlib import Path

from hocket.api.nccl.buffers import of_buffers
from hocket.api.nccl.calibrated import calibrated
from hocket.api.nccl.choices import NcclChoices
from hocket.api.nccl.naming import collectives_named, release_named, settings_named, sizes_between
from hocket.api.nccl.request import NcclChoiceRequest
from hocket.api.progress import Progress
from hocket.base.errors import RequestError
from hocket.base.files import require_place
from hocket.nccl import NcclModel
from hocket.nccl.fitted_file import calibration_of
from hocket.nccl.launches import launched_channels
from hocket.nccl.libraries import LIBRARIES
from hocket.nccl.programs.spec import settings_on
from hocket.nccl.rccl import RcclModel
from hocket.topology.formats.nccl.graph import read_nccl_graphs
from hocket.topology.formats.nccl.machine import Dialect
from hocket.topology.machines.hosts import Hosts, hosts_of

__all__ = ["perform"]

_OF_NCCL = {
    "settings": "--set",
    "graph": "--graph",
    "graph_dump": "--graph-dump",
    "calibration": "--calibration",
    "version": "--nccl-version",
    "domain": "--nvlink-domain",
    "buffers": "--buffers",
    "policy": "--cta-policy",
}


def perform(request: NcclChoiceRequest, progress: Progress) -> NcclChoices:
    """The choices for every collective and size; files where they are asked for."""
    names = collectives_named(request.collective)
    sizes = sizes_between(request.least, request.most)
    release = release_named(request.version)
    settings_named(request.settings, release)
    for output in (request.csv, request.graph_dump):
        if output is not None:
            require_place(output)
    if request.domain and request.nodes and request.nodes % request.domain:
        raise RequestError(f"--nvlink-domain {request.domain}: --nodes {request.nodes} is no multiple of it")
    hosts = hosts_of(request.topology, request.nodes, request.domain)
    of = _of_rccl if hosts.machine.dialect == Dialect.RCCL else _of_nccl
    result = of(request, hosts, names, sizes)
    result.write()
    return result


def _of_nccl(request: NcclChoiceRequest, hosts: Hosts, names: Sequence[str], sizes: Sequence[int]) -> NcclChoices:
    release = release_named(request.version)
    machine, settings = hosts.machine, settings_named(settings_on(hosts, request.settings), release)
    calibration = request.calibration or hosts.calibration
    graphs = read_nccl_graphs(request.graph) if request.graph else None
    model = NcclModel(machine, hosts.nodes, settings, domain=hosts.domain, graphs=graphs)
    fits = calibration_of(calibration, model) if calibration else None
    found = [model.choose(name, sizes, request.operations) for name in names]
    found, symmetric = of_buffers(request, model, found)
    before = None
    if request.settings or graphs:
        without = NcclModel(machine, hosts.nodes, settings_named(settings_on(hosts), release), domain=hosts.domain)
        before = [without.choose(name, sizes, request.operations) for name in names]
        before, _ = of_buffers(request, without, before)
    times = [calibrated(fits, model, choices) for choices in found] if fits else None
    notes = [f"note: {note}" for note in (*release.notes(), *machine.notes)]
    # How a group shares its channels depends on all of its calls.
    launched = [launched_channels(model, choices) for choices in found] if request.operations == 1 else None
    name = Path(machine.source).name
    return NcclChoices(request, model, tuple(found), name, notes, launched, symmetric, before, times)


def _of_rccl(request: NcclChoiceRequest, hosts: Hosts, names: Sequence[str], sizes: Sequence[int]) -> NcclChoices:
    """Raises RequestError for options of NCCL's, TopologyError for machines whose channels are not known."""
    flags = [flag for name, flag in _OF_NCCL.items() if name in request.set_fields()]
    if flags:
        raise RequestError(
            f"{flags[0]} is of NCCL, and {hosts.spec} runs {LIBRARIES['rccl'].title}, of which it is not modelled: drop"
            " it"
        )
    model = RcclModel(hosts.machine, hosts.nodes)
    found = tuple(model.choose(name, sizes, request.operations) for name in names)
    notes = [f"note: {note}" for note in hosts.machine.notes]
    if hosts.nodes > 1:
        notes.append(
            "note: over several nodes RCCL's times only rank its algorithms: rules of its own decide beside them"
        )
    return NcclChoices(request, model, found, Path(hosts.machine.source).name, notes)
