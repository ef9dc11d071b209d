"""What a sweep is."""

from typing import Annotated, ClassVar

from hocket.api.fields import argument, option
from hocket.api.fields import output as written
from hocket.api.request import Request

__all__ = ["Sweep"]


class Sweep(Request, frozen=True, kw_only=True, tag="sweep"):
    """Simulate every combination of the values in FILE; a sweep that was interrupted goes on where it stopped."""

    writes_in_steps: ClassVar[bool] = True
    examples: ClassVar[tuple[str, ...]] = (
        "hocket sweep sweep.yaml -o sweep/ --executor processes --jobs 8",
        "hocket sweep sweep.yaml -o sweep/ --executor mpi",
    )

    file: Annotated[
        str, argument("YAML: any option of hocket simulate, each one value or a list (docs/results.md).", "FILE")
    ]
    output: Annotated[
        str,
        written(
            "Folder for answers.jsonl (resumed if it is there) and results.csv.",
            "-o",
            "--output",
            "--out",
            metavar="DIR",
        ),
    ] = "sweep"
    executor: Annotated[str, option("serial, processes, or mpi (mpi4py.futures).")] = "serial"
    jobs: Annotated[int, option("Worker processes; one a CPU core by default.", ge=1)] | None = None
    parquet: Annotated[bool, option("results.parquet too (needs pyarrow).")] = False
