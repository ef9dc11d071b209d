"""What a schedule or a program is translated to: the runtimes that have programs, and formats that are no programs."""

from hocket.base.registry import Entry, Registry
from hocket.translator.formats.registry import FORMATS
from hocket.translator.msccl.profiles import DEVICE_RUNTIME, PROFILES, UNLIMITED
from hocket.translator.mscclpp.judge import PLAN_RUNTIME

__all__ = ["RUNTIMES", "TARGETS"]

RUNTIMES: Registry[Entry] = Registry(
    "runtime",
    (*PROFILES.values(), DEVICE_RUNTIME, Entry(name=PLAN_RUNTIME, summary="MSCCL++ 0.9, as execution plans")),
)
TARGETS: Registry[Entry] = Registry("target", (*RUNTIMES.values(), UNLIMITED, *FORMATS.values()))
