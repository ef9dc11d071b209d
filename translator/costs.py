"""What the kernels of a runtime take: known, measured, or not known."""

from collections.abc import Mapping
from dataclasses import replace

from hocket.base.errors import ScheduleError
from hocket.schedule import MSCCLPP, Costs, Protocol
from hocket.translator.msccl.profile import Profile
from hocket.translator.msccl.profiles import find_profile
from hocket.translator.mscclpp.judge import PLAN_RUNTIME

__all__ = ["priced_profile", "priced_protocols"]


def priced_protocols(runtime: str | Profile, costs: Costs | None = None) -> Mapping[str, Protocol]:
    """A runtime's protocols with what its kernels take: as measured (`costs`), else as it is known, if it is. Raises
    ScheduleError for what was measured of another runtime."""
    name = runtime.name if isinstance(runtime, Profile) else runtime
    own = MSCCLPP if name == PLAN_RUNTIME else find_profile(runtime).protocols
    if costs is None:
        return own
    if costs.runtime != name:
        raise ScheduleError(f"the costs are those of {costs.runtime}, not of {name}: give those of {name}, or none")
    return costs.of(own)


def priced_profile(runtime: str | Profile, costs: Costs | None = None) -> Profile:
    """The profile of a runtime that loads programs, with `priced_protocols`."""
    profile = find_profile(runtime)
    return profile if costs is None else replace(profile, protocols=dict(priced_protocols(profile, costs)))
