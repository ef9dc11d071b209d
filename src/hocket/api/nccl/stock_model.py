"""What a run of NCCL's or RCCL's own code is compared with: the model of the same release on the same machine."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from hocket.api.nccl.request import NcclStockRun
from hocket.base.errors import HocketError
from hocket.nccl import Choices, NcclModel, read_settings
from hocket.nccl.libraries import LIBRARIES
from hocket.nccl.programs.spec import settings_on
from hocket.nccl.rccl import RcclModel
from hocket.nccl.releases import release_of
from hocket.nccl.settings import VARIABLES
from hocket.nccl.stock.choices import StockChoice
from hocket.nccl.stock.sources import NcclSources, RcclSources
from hocket.topology.formats.nccl.machine import NcclMachine
from hocket.topology.machines.hosts import Hosts

__all__ = ["Model", "model_of", "modelled_choices", "unknown_settings"]

Model = NcclModel | RcclModel


def model_of(
    request: NcclStockRun, hosts: Hosts, machines: Sequence[NcclMachine], sources: NcclSources
) -> tuple[Model | None, str]:
    """What the library is to be compared with, or why with nothing."""
    if request.table:
        return None, "a table chose"
    if any(replace(machine, source="") != replace(machines[0], source="") for machine in machines):
        return None, "its hosts are different"
    known = [setting for setting in request.settings if setting.partition("=")[0] in VARIABLES]
    try:
        if isinstance(sources, RcclSources):
            return _rccl_model(request, machines, sources)
        settings = read_settings(settings_on(hosts, known), release_of(sources.name))
        return NcclModel(machines[0], len(machines), settings, domain=hosts.domain), ""
    except HocketError as error:
        return None, str(error)


def _rccl_model(
    request: NcclStockRun, machines: Sequence[NcclMachine], sources: NcclSources
) -> tuple[RcclModel | None, str]:
    modelled = LIBRARIES["rccl"].version
    if sources.name != modelled:
        return None, f"RCCL {modelled} is modelled"
    if request.settings:
        return None, "of RCCL variables of its environment are not modelled"
    return RcclModel(machines[0], len(machines)), ""


def unknown_settings(settings: Sequence[str]) -> list[str]:
    """NCCL's variables of which the model knows nothing."""
    names = [setting.partition("=")[0] for setting in settings]
    return [name for name in names if name.startswith("NCCL_") and name not in VARIABLES]


def modelled_choices(model: Model | None, choices: Sequence[StockChoice]) -> tuple[list[str], list[float]]:
    """Names of what the model chooses, and the times that the library would expect by it."""
    names: list[str] = []
    times: list[float] = []
    for collective, grouped in groupby(choices if model else [], key=lambda one: one.collective):
        assert model is not None
        sizes = [one.call.size_bytes for one in grouped]
        of: Choices = model.choose(collective, sizes)
        names += [of.name(at) for at in range(len(of.time_us))]
        times += model.expected_us(collective, sizes) if isinstance(model, RcclModel) else map(float, of.time_us)
    return names, times
