"""Of which job's step a report is asked for."""

from typing import Annotated, ClassVar

from hocket.api.fields import option, output
from hocket.api.request import Request
from hocket.api.simulate.request import JobOnTopology

__all__ = ["StepReport"]


class StepReport(Request, frozen=True, kw_only=True, tag="step"):
    """Show where a training step's time goes on a cluster, what other libraries would take, and what would
    shorten it the most.

    The parts (computation, exposed communication of each parallel dimension, pipeline bubble, skew) add up to the step.
    """

    examples: ClassVar[tuple[str, ...]] = (
        "hocket step traces/ -t dgx-h100:nodes=8 --report step.html",
        "hocket step traces/ -t dgx-b200:nodes=8 --tokens 4194304 --no-what-if",
        "hocket step traces/ -t dgx-h100:nodes=8 --synthesize",
    )

    simulated: JobOnTopology
    tokens: Annotated[
        int | None, option("Tokens of a step on all ranks; default: from generated traces.", ge=1, le=1 << 40)
    ] = None
    model_pflop: Annotated[
        float | None,
        option(
            "10^15 operations of the model in a step, none computed again; default: from generated traces.",
            ge=0,
            le=1e9,
        ),
    ] = None
    what_if: Annotated[bool, option("Simulate what other choices would gain.", "--what-if/--no-what-if")] = True
    synthesize: Annotated[
        bool,
        option(
            "Also run it by programs synthesized for the collectives that take the most of its time: at most three"
            " searches, of some seconds each, and as many simulations more."
        ),
    ] = False
    json: Annotated[str | None, output("Write the report here.")] = None
    report: Annotated[str | None, output("Write a report here (.html).")] = None
