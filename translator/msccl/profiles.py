"""The runtimes that load MSCCL XML. A new one is one file with `PROFILES` in `runtimes/`, and its name here."""

from dataclasses import replace

from hocket.base.errors import ScheduleError
from hocket.base.registry import Registry
from hocket.translator.msccl.profile import Profile

__all__ = ["PROFILES", "UNLIMITED", "find_profile"]

_FILES = ("msccl", "executor", "rccl")

PROFILES: Registry[Profile] = Registry.of_files("profile", f"{__package__}.runtimes", _FILES, "PROFILES", ScheduleError)

_NO_LIMIT = 1 << 30

#: Programs for whoever reads no XML: without the limits of the runtimes that do.
UNLIMITED = replace(
    PROFILES["executor"],
    name="json",
    summary="programs for whoever reads no XML",
    max_steps=_NO_LIMIT,
    max_thread_blocks=_NO_LIMIT,
    max_channels=_NO_LIMIT,
    max_dependency_block=_NO_LIMIT,
    max_blocks_per_channel=_NO_LIMIT,
    max_count=_NO_LIMIT,
    max_nodes=_NO_LIMIT,
    max_children=_NO_LIMIT,
    reads_xml=False,
)


def find_profile(profile: str | Profile) -> Profile:
    """The profile of that name. Raises ScheduleError naming the known ones."""
    if isinstance(profile, Profile):
        return profile
    return UNLIMITED if profile == UNLIMITED.name else PROFILES.named(profile, also=[UNLIMITED.name])
