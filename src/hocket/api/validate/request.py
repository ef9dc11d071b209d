"""Which recorded job is to be held against a prediction."""

from typing import Annotated, ClassVar

from hocket.api.fields import option, output
from hocket.api.request import Request
from hocket.api.simulate.request import JobOnTopology

__all__ = ["JobValidation"]


class JobValidation(Request, frozen=True, kw_only=True, tag="validate"):
    """Compare a job's recorded collectives and steps with their prediction, kind by kind.

    With --fit the times of some steps correct the prediction, and the others say how far it can be trusted then.
    """

    examples: ClassVar[tuple[str, ...]] = (
        "hocket validate traces/ -t dgx-h100:nodes=2 --report validate.html",
        "hocket validate traces/ -t ring:4,bandwidth=2GB/s,latency=50us --fit odd",
    )

    simulated: JobOnTopology
    fit: Annotated[
        str | None,
        option(
            "Steps whose recorded times correct the prediction of the others.",
            choices="hocket.simulator.measured_calls:FittedSteps",
        ),
    ] = None
    json: Annotated[str | None, output("Write all errors here.")] = None
    report: Annotated[str | None, output("Write a report here (.html).")] = None
