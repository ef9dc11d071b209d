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
        "hocket sweep sweep.yaml -o sweep/ --executor local --jobs 8",
        "hocket sweep sweep.yaml -o sweep/ --executor dask --cluster slurm:jobs=4,cores=16,memory=64GB",
        "hocket sweep examples/sweep_jobs.yaml -o swept/ --executor mpi --time-limit 600",
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
            "Folder for answers.sqlite (resumed if it is there), results.csv and report.html.",
            "-o",
            "--output",
            "--out",
            metavar="DIR",
        ),
    ] = "sweep"
    executor: Annotated[
        str,
        option("serial, local (processes here; processes is its other name), mpi (mpi4py.futures), or dask."),
    ] = "serial"
    jobs: Annotated[int, option("Worker processes; one per CPU core by default.", ge=1)] | None = None
    cluster: Annotated[
        str | None,
        option(
            "Of dask: the address of a scheduler (tcp://host:8786), or slurm:jobs=4,cores=16,memory=64GB,queue=...",
            metavar="ADDRESS|slurm:...",
        ),
    ] = None
    time_limit: (
        Annotated[float, option("Seconds a point may take; one that takes longer has failed.", ge=0.01)] | None
    ) = None
    retry_failed: Annotated[bool, option("Ask again what failed before: a worker that died, a time limit.")] = False
    parquet: Annotated[bool, option("results.parquet too (needs pyarrow).")] = False
    json: ResultJson = None


class SweepPlot(Request, frozen=True, kw_only=True, tag="sweep plot"):
    """Draw columns of a sweep's results: curves with both regimes and the knee, heat maps, Pareto fronts.

    A sweep that goes on, or was killed, has the figures of what is answered.
    """

    performer: ClassVar[str] = "hocket.api.sweep.plot"
    examples: ClassVar[tuple[str, ...]] = (
        "hocket sweep plot sweep/ -o curves.html",
        "hocket sweep plot sweep/ --x size_bytes --y busbw --by topology,algorithm --log -o busbw.html",
        "hocket sweep plot sweep/ --kind heat --x size_bytes --y algorithm --value time_ps -o heat.html",
        "hocket sweep plot swept/ --kind pareto --x memory_bytes --y step_ps --by topology -o front.html",
    )

    folder: Annotated[str, argument("The folder of a sweep.", "DIR")]
    output: Annotated[str, written("The page (.html).", "-o", "--output")] = "plot.html"
    kind: Annotated[str, option("What is drawn.", choices="hocket.api.sweep.plots:KINDS")] = "curves"
    x: Annotated[str | None, option("The column across; without it the figures that the page of a sweep has.")] = None
    y: Annotated[str | None, option("The vertical axis.")] = None
    value: Annotated[str | None, option("The column that colours the heat map.")] = None
    by: Annotated[tuple[str, ...], option("A line, or sort of dot, for each value of these columns.")] = ()
    each: Annotated[str | None, option("A figure for each value of this column.")] = None
    log: Annotated[bool, option("Logarithmic axes.")] = False
    json: ResultJson = None
