"""`nccl:ring/ll128/4`: the algorithm, protocol and channels that a user asks NCCL for."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from hocket.base.collectives import nccl_name
from hocket.base.errors import FormatError, ScheduleError, TopologyError
from hocket.base.strict_yaml import nearest
from hocket.nccl.fitted_file import calibration_of
from hocket.nccl.model import NcclModel
from hocket.nccl.names import ALGORITHMS, PROTOCOLS
from hocket.nccl.programs import KINDS, PROGRAMS, NcclCall, NcclProgram, nccl_call, program_of
from hocket.nccl.releases import NEWEST, Release
from hocket.nccl.settings import Settings, read_settings
from hocket.nccl.words import MODEL, NCCL, is_nccl, is_nccl_model
from hocket.schedule import Collective, Kernel, Kind
from hocket.topology.machines.hosts import Hosts, NoMachines, hosts_of

__all__ = [
    "ModelledTime",
    "NcclAlgorithm",
    "is_nccl",
    "is_nccl_model",
    "model_of",
    "model_of_hosts",
    "nccl_names",
    "settings_on",
]

_PS = 10**6  # of a us
_IN_BLOCKS = (Kind.ALL_GATHER, Kind.REDUCE_SCATTER)
_NVLS = "NCCL_NVLS_ENABLE"


def nccl_names() -> tuple[str, ...]:
    """What asks for NCCL's: its own choice, each algorithm, the time that its model says."""
    return (NCCL, *(each.example for each in PROGRAMS.values()), MODEL)


@dataclass(frozen=True, slots=True)
class ModelledTime:
    """What NCCL's model says that an algorithm takes (ps)."""

    algorithm: str
    time_ps: int


@dataclass(frozen=True, slots=True)
class NcclAlgorithm:
    """What NCCL is made to do; None: its own choice."""

    algorithm: str | None = None
    protocol: str | None = None
    channels: int | None = None

    @classmethod
    def of(cls, text: str) -> "NcclAlgorithm":
        """`nccl`, `nccl:ring`, `nccl:ring/ll128`, `nccl:ring/ll128/4`. Raises FormatError."""
        parts = text.partition(":")[2].split("/") if ":" in text else []
        if is_nccl_model(text) and len(parts) > 2:
            raise FormatError(f"'{text}': expected nccl-model[:ALGORITHM[/PROTOCOL]], such as nccl-model:ring/ll128")
        if len(parts) > 3 or (len(parts) == 3 and not re.fullmatch("[1-9][0-9]?", parts[2])):
            raise FormatError(f"'{text}': expected nccl[:ALGORITHM[/PROTOCOL[/CHANNELS]]], such as nccl:ring/ll128/4")
        return cls(
            _named(text, parts[0], ALGORITHMS) if parts else None,
            _named(text, parts[1], PROTOCOLS) if len(parts) > 1 else None,
            int(parts[2]) if len(parts) > 2 else None,
        )

    def call(self, model: NcclModel, collective: Collective) -> NcclCall:
        """What NCCL is asked, in blocks of whole bytes: the next larger size where ranks do not divide it. Raises
        ScheduleError for what it has no kernel for."""
        blocks = collective.num_ranks if collective.kind in _IN_BLOCKS else 1
        return nccl_call(
            model,
            _name_of(collective),
            -(-collective.size_bytes // blocks) * blocks,
            self.algorithm,
            self.protocol,
            self.channels,
            collective.root,
        )

    def program(self, model: NcclModel, collective: Collective) -> NcclProgram | Kernel:
        """Raises ScheduleError for what NCCL has no kernel for, or would not run here."""
        return program_of(self.call(model, collective))

    def expected(self, model: NcclModel, collective: Collective) -> ModelledTime:
        """What NCCL's model says that a collective takes by the algorithm and protocol, or those that it chooses.
        Raises ScheduleError for what NCCL has no kernel for, or would not run here."""
        terms = [
            term
            for term in model.terms(_name_of(collective), collective.size_bytes)
            if not term.out and self.algorithm in (None, term.algorithm) and self.protocol in (None, term.protocol)
        ]
        if not terms:
            raise ScheduleError(f"NCCL runs no such algorithm for {collective.kind} here")
        best = min(terms, key=lambda term: term.time_us)
        time_us = model.takes_us(_name_of(collective), best, collective.size_bytes)
        return ModelledTime(f"NCCL's model {best.algorithm}/{best.protocol}", round(time_us * _PS))


def model_of(
    spec: str,
    num_ranks: int,
    machine: str | None = None,
    settings: Iterable[str] = (),
    release: Release = NEWEST,
) -> NcclModel:
    """NCCL on the machines of a topology that was named by `spec`: a preset, `nccl:FILE,...`, `smi:FILE,...`, or
    anything that says nothing of machines, where `machine` names one.

    Raises FormatError where no machine is known, and TopologyError where its GPUs are not those of the topology.
    """
    try:
        hosts = hosts_of(spec if machine is None else machine)
    except NoMachines as error:
        if machine is not None:
            raise
        raise FormatError(
            f"{spec}: does not say what NCCL would see of its machines: take nccl:FILE,nodes=N or a preset, or name"
            " one machine with --nccl-machine"
        ) from error
    if machine is None and hosts.ranks != num_ranks:
        raise TopologyError(f"{spec} has {num_ranks} ranks, but its machines {hosts.ranks} GPUs")
    return model_of_hosts(hosts.times(num_ranks), read_settings(settings_on(hosts, settings), release))


def model_of_hosts(hosts: Hosts, settings: Settings | None = None) -> NcclModel:
    """NCCL on these hosts, of which NVLink domains are one machine to it, with the times of their calibration.

    Settings are `hosts`' own where none are given. Raises FormatError for a calibration that tells nothing of NCCL, or
    is of other nodes.
    """
    settings = settings or read_settings(settings_on(hosts))
    model = NcclModel(hosts.machine, hosts.nodes, settings, domain=hosts.domain)
    model.measured = calibration_of(hosts.calibration, model) if hosts.calibration else None
    return model


def settings_on(hosts: Hosts, assignments: Iterable[str] = ()) -> list[str]:
    """The assignments, and NVLS off where the hosts' spec says nvls=0 and they say nothing of it."""
    found = [*assignments]
    off = hosts.nvls is False and not any(each.startswith(f"{_NVLS}=") for each in found)
    return [*found, *([f"{_NVLS}=0"] if off else [])]


def _name_of(collective: Collective) -> str:
    """NCCL's name of a kind."""
    if collective.kind not in KINDS.values():
        known = ", ".join(KINDS.values())
        raise ScheduleError(
            f"{collective.kind}: NCCL's programs are for {known}; the rest go as messages: choose direct"
        )
    return nccl_name(collective.kind)


def _named(text: str, name: str, known: tuple[str, ...]) -> str:
    lower = {each.lower(): each for each in known}
    if name.lower() not in lower:
        raise FormatError(f"'{text}': {nearest(name, lower)}")
    return lower[name.lower()]
