"""What the kernels of a runtime take: known, measured, or not known."""

from collections.abc import Mapping
from dataclasses import replace

from hocket.base.errors import FormatError, ScheduleError, TopologyError
from hocket.schedule import MSCCLPP, Costs, Protocol
from hocket.topology import Topology
from hocket.topology.machines.hosts import hosts_of
from hocket.translator.interpreter_costs import machines_of, protocols_on, reaching
from hocket.translator.msccl.profile import Profile
from hocket.translator.msccl.profiles import PROFILES, find_profile
from hocket.translator.mscclpp.judge import PLAN_RUNTIME

__all__ = ["priced_profile", "priced_protocols"]


def priced_protocols(
    runtime: str | Profile, costs: Costs | None = None, topology: Topology | None = None
) -> Mapping[str, Protocol]:
    """A runtime's protocols with what its kernels take: as measured (`costs`); else as it is known, of forks of NCCL
    and RCCL on the machines that the `topology` names; without times where it is not. Raises ScheduleError for what was
    measured of another runtime."""
    name = runtime.name if isinstance(runtime, Profile) else runtime
    own = MSCCLPP if name == PLAN_RUNTIME else find_profile(runtime).protocols
    if costs is None:
        if topology is None:
            return own
        return protocols_on(own, topology) if name in PROFILES else reaching(own, topology)
    if costs.runtime != name:
        raise ScheduleError(f"the costs are those of {costs.runtime}, not of {name}: give those of {name}, or none")
    return costs.of(own)


def priced_profile(runtime: str | Profile, costs: Costs | None = None, topology: Topology | None = None) -> Profile:
    """The profile of a runtime that loads programs, with `priced_protocols`, and no more thread blocks than the GPUs of
    the `topology` have multiprocessors, where its name tells: they wait for each other, and all must run at once."""
    profile = find_profile(runtime)
    return replace(
        profile,
        protocols=dict(priced_protocols(profile, costs, topology)),
        max_thread_blocks=min(profile.max_thread_blocks, _multiprocessors(topology) or profile.max_thread_blocks),
    )


def _multiprocessors(topology: Topology | None) -> int:
    """Of a GPU; 0 where that is not known."""
    if topology is None:
        return 0
    try:
        return hosts_of(machines_of(topology)).multiprocessors
    except (FormatError, TopologyError):
        return 0
