"""What a runtime that loads MSCCL XML is, as data: names, attributes, step types, limits, files and how it is told."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from hocket.base.collectives import kinds_called
from hocket.base.enums import StrEnum
from hocket.base.errors import ScheduleError
from hocket.base.registry import Entry
from hocket.schedule import Kind, Protocol, StepType

__all__ = ["COMMON_ATTRIBUTES", "LARGEST_BYTES", "MAX_COUNT", "Profile", "Recipe", "Scan", "names_of_kinds"]

#: The largest size of a call, in bytes: one more is a number of 64 bits too.
LARGEST_BYTES = (1 << 63) - 2
#: Chunks of a step.
MAX_COUNT = 71
#: What an `<algo>` must have for every runtime.
COMMON_ATTRIBUTES = frozenset({"proto", "nchannels", "nchunksperloop", "ngpus", "coll", "inplace"})


def names_of_kinds(names: str) -> dict[Kind, str]:
    """What a runtime calls each collective, by the kinds that its names, separated by blanks, mean."""
    return {kind: name for name, kind in kinds_called(names).items()}


class Scan(StrEnum):
    """How a runtime comes to its files: one by one from its user, all of a folder by name, or as the file system lists
    them. A file that cannot be read ends the scan of a folder."""

    ONE_BY_ONE = "one by one"
    BY_NAME = "by name"
    LISTED = "listed"


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a runtime is told to use programs, from its documentation and source code.

    `variable` says where the runtime was built and `library` which file of it a program must load. `environment` has
    `{files}` (their paths, joined by colons) or `{folder}`, in which they are alone. `proof`: extended regular
    expressions of log lines that say that the programs were loaded; `launched`: which of them comes only when one is
    launched for a call (empty: the runtime logs no such line); `trouble`: of a line that says that one was refused.
    """

    title: str
    variable: str
    library: str
    environment: tuple[str, ...]
    proof: tuple[str, ...]
    launched: str = ""
    trouble: str = ""


@dataclass(frozen=True, kw_only=True)
class Profile(Entry):
    """What one runtime accepts and runs. Limits are inclusive maxima; sources: docs/translator.md#profiles.

    `attributes` are those an `<algo>` must have. `protocols` are those of its GPUs. `open_max_bytes` is the largest
    size of a program that names none (0: any), and the runtime's default of maxBytes; `max_bytes_exclusive`: a call of
    exactly maxBytes is not selected, and 0 selects none (else it selects any). `checks_program`: the parser compares
    chunks, peers and sizes with each other. `refuses_channels`: more channels than it has are refused, not just warned
    of. `other_collectives` and `other_types` are names that its parser takes and that no program here can use.
    `max_name`: bytes that it keeps of a name. `reads_xml`: programs go to it as XML. `scan`: how it comes to its files.
    `notes` are what else `hocket explain` says of it, `call_notes` of calls of one collective; `in_bundle` is what a
    bundle's README says of how it reads the folder. `built_in`: name and collective of XML for which it runs its own.
    `ll_sends_early`: over LL its kernels have no barrier behind a send that others wait for. `one_sided`: a message
    waits for no room at its receiver. `pads`: calls that chunks do not divide are run on padded copies, else by its own
    algorithms.
    """

    attributes: frozenset[str]
    collective_names: dict[Kind, str]
    step_types: frozenset[StepType] = frozenset(StepType)
    max_steps: int
    max_thread_blocks: int
    max_channels: int
    open_max_bytes: int
    max_bytes_exclusive: bool
    checks_program: bool
    refuses_channels: bool
    other_collectives: frozenset[str] = frozenset()
    other_types: frozenset[str] = frozenset()
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
    scan: Scan
    notes: tuple[str, ...] = ()
    call_notes: Mapping[Kind, str] = field(default_factory=dict)
    in_bundle: str
    built_in: tuple[str, str] | None = None
    ll_sends_early: bool = False
    one_sided: bool = False
    pads: bool = False
    recipe: Recipe

    @property
    def priced(self) -> tuple[str, ...]:
        """The protocols of which it is known what kernels take; of those that are alike in all, the first."""
        known = {protocol: name for name, protocol in reversed(self.protocols.items()) if protocol.pace is not None}
        return tuple(name for name in self.protocols if name in known.values())

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
