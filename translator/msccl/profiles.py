"""The runtimes that load MSCCL XML, and our own. A new one of others is a file in `runtimes/`, and its name here."""

from dataclasses import replace

from hocket.base.errors import ScheduleError
from hocket.base.registry import Registry
from hocket.schedule import DEVICE
from hocket.translator.msccl.profile import Profile

__all__ = ["DEVICE_RUNTIME", "PROFILES", "UNLIMITED", "find_profile"]

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


#: Hocket's own interpreter (docs/device.md): no parser of a fork of NCCL reads its XML. Its steps are counted in 16
#: bits, of which the last number is that of an end; all its thread blocks run at once, on no more multiprocessors than
#: A100s have.
DEVICE_RUNTIME = replace(
    PROFILES["executor"],
    name="device",
    summary="Hocket's own kernel in stock PyTorch, and on processors",
    max_steps=(1 << 16) - 2,
    max_thread_blocks=108,
    max_nodes=_NO_LIMIT,
    max_children=_NO_LIMIT,
    protocols=DEVICE,
    pads=True,
)

_OWN = {own.name: own for own in (UNLIMITED, DEVICE_RUNTIME)}


def find_profile(profile: str | Profile) -> Profile:
    """The profile of that name. Raises ScheduleError naming the known ones."""
    if isinstance(profile, Profile):
        return profile
    return _OWN[profile] if profile in _OWN else PROFILES.named(profile, also=list(_OWN))
