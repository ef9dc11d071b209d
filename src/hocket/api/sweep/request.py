"""What a sweep is."""

from typing import Annotated, ClassVar

from hocket.api.fields import argument, option
from hocket.api.fields import output as written
from hocket.api.parts import ResultJson
from hocket.api.request import Request

__all__ = ["Sweep"]


class Sweep(Request, frozen=True, kw_only=True, tag="sweep"):
    """Simulate every combination of the values in FILE: collectives by sizes, or models by plans, on topologies.

    A sweep that was interrupted goes on where it stopped. One over jobs ends with the best plans and a page.
    """

    writes_in_steps: ClassVar[bool] = True
    examples: ClassVar[tuple[str, ...]] = (
        "hocket sweep sweep.yaml -o sweep/ --executor processes --jobs 8",
        "hocket sweep sweep.yaml -o sweep/ --executor mpi",
        "hocket sweep examples/sweep_jobs.yaml -o swept/ --executor processes",
    )

    file: Annotated[
        str,
        argument(
            "YAML: options of hocket simulate, or models, plans and traces; each one value or a list (docs/sweep.md).",
            "FILE",
        ),
    ]
    output: Annotated[
        str,
        written(
            "Folder for answers.jsonl (resumed if it is there), results.csv, and report.html of jobs.",
            "-o",
            "--output",
            "--out",
            metavar="DIR",
        ),
    ] = "sweep"
    executor: Annotated[str, option("serial, processes, or mpi (mpi4py.futures).")] = "serial"
    jobs: Annotated[int, option("Worker processes; one a CPU core by default.", ge=1)] | None = None
    parquet: Annotated[bool, option("results.parquet too (needs pyarrow).")] = False
    json: ResultJson = None
