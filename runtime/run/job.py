"""What the launcher asks its workers to do, and what they answer."""

from dataclasses import dataclass

from hocket.base.errors import HocketError
from hocket.runtime.run.datatypes import DATA_TYPES, DataType, ReduceOp
from hocket.schedule.collective import Kind
from hocket.schedule.program import Program

__all__ = ["Job", "Result", "Row"]


@dataclass(frozen=True)
class Result:
    """One timed way to run the collective: time of one run on the slowest rank, wrong elements over all ranks."""

    time_ps: int
    wrong: int


@dataclass(frozen=True)
class Row:
    """What was measured at one size (bytes of a rank's whole buffer); None where it was not run.

    `count` is nccl-tests' count: elements of the smaller of a rank's two buffers.
    `reference` is the backend's own collective, out of place.
    """

    size_bytes: int
    count: int
    out_of_place: Result | None
    in_place: Result | None
    reference: Result | None

    @property
    def wrong(self) -> int:
        """Wrong elements of the program's runs."""
        return sum(result.wrong for result in (self.out_of_place, self.in_place) if result)


@dataclass(frozen=True)
class Job:
    """A program to run at each of `sizes` (bytes). Raises HocketError where it cannot be run or checked."""

    program: Program
    backend: str
    sizes: tuple[int, ...]
    data_type: str = "float32"
    op: ReduceOp = ReduceOp.SUM
    iterations: int = 20
    warmup: int = 5
    compare: bool = False

    def __post_init__(self) -> None:
        if self.program.kind is Kind.CUSTOM:
            raise HocketError("a custom collective has no known result to check; run all_reduce, all_gather, ...")
        if self.data_type not in DATA_TYPES:
            raise HocketError(f"unknown data type '{self.data_type}'; known: {', '.join(DATA_TYPES)}")
        self._check_exactness()
        for size in self.sizes:
            self._check_size(size)

    @property
    def elements(self) -> DataType:
        return DATA_TYPES[self.data_type]

    @property
    def largest_input(self) -> int:
        """The inputs are 1..largest_input, so that every result is an integer the data type holds exactly."""
        if self.op is ReduceOp.SUM:
            return self.elements.exact // self.program.num_ranks
        if self.op is ReduceOp.PROD:
            return 2 if 2**self.program.num_ranks <= self.elements.exact else 1
        return self.elements.exact

    def _check_exactness(self) -> None:
        if self.largest_input < 2:
            raise HocketError(
                f"{self.data_type} cannot hold the exact {self.op} over {self.program.num_ranks} ranks, so the result "
                "could not be checked; choose a wider --dtype"
            )

    def _check_size(self, size: int) -> None:
        unit = self.program.chunks_per_loop * self.elements.size_bytes
        if size <= 0 or size % unit:
            nearest = max(round(size / unit), 1) * unit
            raise HocketError(
                f"size {size} B: its {size / self.elements.size_bytes:g} {self.data_type} "
                f"elements cannot be cut into nchunksperloop={self.program.chunks_per_loop} equal chunks (MSCCL would "
                f"silently fall back to its stock algorithm); use a positive multiple of {unit} B, such as {nearest}"
            )
