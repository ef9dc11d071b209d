"""The three runtimes that load MSCCL XML, as data: names, attributes, step types and limits of each."""

from dataclasses import dataclass, replace

from hocket.base.collectives import kinds_called
from hocket.base.enums import StrEnum
from hocket.base.errors import ScheduleError
from hocket.base.registry import Entry, Registry
from hocket.schedule import AMD, NVIDIA, Kind, Protocol, StepType

__all__ = ["LARGEST_BYTES", "MAX_COUNT", "PROFILES", "UNLIMITED", "Profile", "ProfileName", "find_profile"]


class ProfileName(StrEnum):
    """The runtimes: microsoft/msccl, Azure/msccl-executor-nccl and ROCm/rccl with MSCCL compiled in; and JSON, which
    none of them reads."""

    MSCCL = "msccl"
    EXECUTOR = "executor"
    RCCL = "rccl"
    JSON = "json"


_EXECUTOR_NAMES = {
    kind: name
    for name, kind in kinds_called("allreduce allgather reducescatter alltoall broadcast reduce gather scatter").items()
}
_MSCCL_NAMES = {
    kind: name
    for name, kind in kinds_called("allreduce allgather reduce_scatter alltoall broadcast reduce custom").items()
}
_COMMON_ATTRIBUTES = frozenset({"proto", "nchannels", "nchunksperloop", "ngpus", "coll", "inplace"})
_NOT_EXECUTED = frozenset({"send", "recv", "alltoallv"})
#: The largest size of a call, in bytes: one more is a number of 64 bits too.
LARGEST_BYTES = (1 << 63) - 2
#: Chunks of a step.
MAX_COUNT = 71
_UNFUSED = frozenset({StepType.SEND, StepType.RECEIVE, StepType.COPY, StepType.REDUCE, StepType.NOP})


@dataclass(frozen=True, kw_only=True)
class Profile(Entry):
    """What one runtime accepts and runs. Limits are inclusive maxima; sources: docs/translator.md#profiles.

    `attributes` are those an `<algo>` must have. `protocols` are those of its GPUs. `open_max_bytes` is the largest
    size of a program that names none (0: any), and the runtime's default of maxBytes; `max_bytes_exclusive`: a call of
    exactly maxBytes is not selected, and 0 selects none (else it selects any). `checks_program`: the parser compares
    chunks, peers and sizes with each other. `refuses_channels`: more channels than it has are refused, not just warned
    of. `other_collectives` and `other_types` are names that its parser takes and that no program here can use.
    `max_name`: bytes that it keeps of a name. `reads_xml`: programs go to it as XML.
    """

    name: ProfileName
    attributes: frozenset[str]
    collective_names: dict[Kind, str]
    step_types: frozenset[StepType]
    max_steps: int
    max_thread_blocks: int
    max_channels: int
    open_max_bytes: int
    max_bytes_exclusive: bool
    checks_program: bool
    refuses_channels: bool
    other_collectives: frozenset[str]
    other_types: frozenset[str]
    protocols: dict[str, Protocol]
    max_dependency_block: int = 127
    max_blocks_per_channel: int = 32
    max_count: int = MAX_COUNT
    max_nodes: int = 4095
    max_children: int = 1024
    max_depth: int = 10_000
    max_files: int = 1024
    max_name: int = 255
    reads_xml: bool = True

    def max_attribute(self, largest: int) -> int:
        """What `maxBytes` must say so that calls of up to and including `largest` bytes (0: any) are selected.

        Raises ScheduleError beyond LARGEST_BYTES.
        """
        if largest > LARGEST_BYTES:
            raise ScheduleError(f"calls of up to {largest} bytes: sizes are at most {LARGEST_BYTES} (2^63 - 2)")
        largest = largest or self.open_max_bytes
        return largest + self.max_bytes_exclusive if largest else 0

    def largest_bytes(self, max_attribute: int | None) -> int | None:
        """The largest size that a `maxBytes` (None: there is none) selects; None: any."""
        if max_attribute is None:
            max_attribute = self.open_max_bytes
        return max_attribute - 1 if self.max_bytes_exclusive else min(max_attribute, LARGEST_BYTES) or None


PROFILES: Registry[Profile] = Registry(
    "profile",
    (
        Profile(
            name=ProfileName.MSCCL,
            summary="microsoft/msccl, a fork of NCCL 2.12",
            attributes=_COMMON_ATTRIBUTES | {"name"},
            collective_names=_MSCCL_NAMES,
            step_types=frozenset(StepType),
            max_steps=256,
            max_thread_blocks=216,
            max_files=4,
            max_name=63,
            max_channels=32,
            # scratch for maxBytes is reserved at start, so "open" is up to the runtime's default of maxBytes, 128 MiB
            open_max_bytes=1 << 27,
            max_bytes_exclusive=True,
            checks_program=True,
            refuses_channels=False,
            other_collectives=frozenset(),
            other_types=frozenset({"ra"}),
            protocols=NVIDIA,
        ),
        Profile(
            name=ProfileName.EXECUTOR,
            summary="Azure/msccl-executor-nccl, a fork of NCCL 2.23",
            attributes=_COMMON_ATTRIBUTES | {"outofplace", "minBytes", "maxBytes"},
            collective_names=_EXECUTOR_NAMES,
            step_types=frozenset(StepType),
            max_steps=64,
            max_thread_blocks=1024,
            max_channels=32,
            open_max_bytes=0,
            max_bytes_exclusive=False,
            checks_program=False,
            refuses_channels=True,
            other_collectives=_NOT_EXECUTED,
            other_types=frozenset(),
            protocols=NVIDIA,
        ),
        Profile(
            name=ProfileName.RCCL,
            summary="RCCL with MSCCL compiled in, ROCm 5.5 to 7.1",
            attributes=_COMMON_ATTRIBUTES | {"outofplace", "minBytes", "maxBytes"},
            collective_names=_EXECUTOR_NAMES,
            step_types=_UNFUSED,
            max_steps=64,
            max_thread_blocks=64,
            max_channels=128,
            open_max_bytes=0,
            max_bytes_exclusive=False,
            checks_program=False,
            refuses_channels=False,
            other_collectives=_NOT_EXECUTED,
            other_types=frozenset(),
            protocols=AMD,
        ),
    ),
    ScheduleError,
)


_NO_LIMIT = 1 << 30

#: Programs for whoever reads no XML: without the limits of the runtimes that do.
UNLIMITED = replace(
    PROFILES[ProfileName.EXECUTOR],
    name=ProfileName.JSON,
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


def find_profile(profile: str | ProfileName | Profile) -> Profile:
    """The profile of that name. Raises ScheduleError naming the known ones."""
    if isinstance(profile, Profile):
        return profile
    return UNLIMITED if profile == UNLIMITED.name else PROFILES.named(profile, also=[UNLIMITED.name])
