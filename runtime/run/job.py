"""What the launcher asks its workers to do, and what they answer."""

from dataclasses import dataclass

from hocket.base.enums import assert_never
from hocket.base.errors import HocketError
from hocket.runtime.engine.library import Library, ProgramChoice
from hocket.runtime.run.datatypes import DATA_TYPES, DataType, ReduceOp
from hocket.schedule.collective import Kind

__all__ = ["Job", "Result", "Row", "RunTask"]


@dataclass(frozen=True)
class Result:
    """One timed way to run the collective: time of one run on the slowest rank, wrong elements over all ranks."""

    time_ps: int
    wrong: int


@dataclass(frozen=True)
class Row:
    """What was measured at one size (bytes of a rank's whole buffer); None where it was not run.

    `count` is nccl-tests' count: elements of the smaller of a rank's two buffers.
    `reference` is the own collective of the library that is compared with, out of place. `transport`: over which rank 0
    reached the others.
    """

    size_bytes: int
    count: int
    out_of_place: Result | None
    in_place: Result | None
    reference: Result | None
    transport: str = ""

    @property
    def wrong(self) -> int:
        """Wrong elements of the program's runs."""
        return sum(result.wrong for result in (self.out_of_place, self.in_place) if result)


@dataclass(frozen=True)
class RunTask:
    """A collective at each of `sizes` (bytes), over a transport of `hocket.runtime.run.launch`. Raises HocketError
    where it could not be checked."""

    kind: Kind
    num_ranks: int
    root: int
    transport: str
    sizes: tuple[int, ...]
    data_type: str = "float32"
    op: ReduceOp = ReduceOp.SUM
    iterations: int = 20
    warmup: int = 5
    compare: bool = False

    def __post_init__(self) -> None:
        if self.kind is Kind.CUSTOM:
            raise HocketError("a custom collective has no known result to check; run all_reduce, all_gather, ...")
        if self.data_type not in DATA_TYPES:
            raise HocketError(f"unknown data type '{self.data_type}'; known: {', '.join(DATA_TYPES)}")
        if self.largest_input < 2:
            raise HocketError(
                f"{self.data_type} cannot hold the exact {self.op} over {self.num_ranks} ranks, so the result could "
                "not be checked; choose a wider --dtype"
            )
        unit = self.elements.size_bytes * self.shares
        for size in self.sizes:
            if size <= 0 or size % unit:
                raise HocketError(
                    f"size {size} B is no positive multiple of {unit} B: of {self.data_type} elements for each share"
                )

    @property
    def elements(self) -> DataType:
        return DATA_TYPES[self.data_type]

    @property
    def shares(self) -> int:
        """Of the larger buffer."""
        return self.num_ranks if self.kind.in_blocks else 1

    @property
    def reduced_type(self) -> str:
        """What the engine reduces; bytes, where nothing is."""
        return self.data_type if self.kind.reduces else "uint8"

    @property
    def reduced_bytes(self) -> int:
        """Of an element of `reduced_type`."""
        return DATA_TYPES[self.reduced_type].size_bytes

    @property
    def largest_input(self) -> int:
        """The inputs are 1..largest_input, so that every result is an integer the data type holds exactly."""
        match self.op:
            case ReduceOp.SUM:
                return self.elements.exact // self.num_ranks
            case ReduceOp.PROD:
                return 2 if 2**self.num_ranks <= self.elements.exact else 1
            case ReduceOp.MAX | ReduceOp.MIN:
                return self.elements.exact
            case _:
                assert_never(self.op)


@dataclass(frozen=True)
class Job:
    """A task and the programs that may serve its calls: the engine's one rule says which, of each size and way."""

    task: RunTask
    library: Library

    def choice(self, size_bytes: int, in_place: bool) -> ProgramChoice | str:
        """What serves the task's calls of a size, or why nothing does."""
        task = self.task
        share = size_bytes // task.shares
        return self.library.find(task.kind, share, task.reduced_bytes, task.num_ranks, task.root, in_place)

    def served_by(self, size_bytes: int, in_place: bool) -> str | None:
        """The name of what serves such calls, and whether on a copy; None: nothing, the stock algorithm would."""
        choice = self.choice(size_bytes, in_place)
        if isinstance(choice, str):
            return None
        return choice.algorithm.name + (" on a copy" if choice.in_place is not in_place else "")
