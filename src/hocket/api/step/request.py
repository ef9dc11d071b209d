"""Of which job's step a report is asked for."""

from typing import Annotated, ClassVar

from hocket.api.fields import argument, option, output
from hocket.api.request import Request
from hocket.api.simulate.request import FidelityOptions, JobOptions, NcclOptions, Simulation

__all__ = ["StepReport"]


class StepReport(Request, frozen=True, kw_only=True, tag="step"):
    """Say where a training step's time goes on a cluster, beside what other libraries would take, and what would
    shorten it the most.

    The parts (computation, exposed communication of each parallel dimension, pipeline bubble, skew) add up to the step.
    """

    examples: ClassVar[tuple[str, ...]] = (
        "hocket step traces/ -t dgx-h100:nodes=8 --report step.html",
        "hocket step traces/ -t dgx-b200:nodes=8 --tokens 4194304 --no-what-if",
    )

    traces: Annotated[str, argument("A folder or prefix of traces: recorded, completed or generated.", "TRACES")]
    topology: Annotated[str, option("Spec, preset or file: where it runs.", "-t", metavar="SPEC|FILE", positional=True)]
    fidelity: FidelityOptions = FidelityOptions()
    algorithm: Annotated[
        tuple[str, ...],
        option(
            "KIND=NAME or one NAME for all, as simulate takes it; the topology's library by default.",
            known="hocket.simulator.algorithm_choice:algorithm_names",
        ),
    ] = ()
    library: Annotated[
        str | None,
        option(
            "Whose collectives run: nccl or none.",
            choices="hocket.api.simulate.library:CollectiveLibrary",
        ),
    ] = None
    nccl: NcclOptions = NcclOptions()
    chunks: Annotated[int, option("Chunks per rank that native algorithms cut a buffer into.", ge=1)] = 1
    job: JobOptions = JobOptions()
    tokens: Annotated[int | None, option("Tokens of a step on all ranks; generated traces know.", ge=1, le=1 << 40)] = (
        None
    )
    model_pflop: Annotated[
        float | None,
        option(
            "10^15 operations that a step of the model is, none computed again; generated traces know.", ge=0, le=1e9
        ),
    ] = None
    what_if: Annotated[bool, option("Simulate what other choices would gain.", "--what-if/--no-what-if")] = True
    json: Annotated[str | None, output("Write the report here.")] = None
    report: Annotated[str | None, output("Write a page of figures here (.html).")] = None

    def simulation(self) -> Simulation:
        """The simulation that the report is about."""
        return Simulation(
            what=self.traces,
            topology=(self.topology,),
            fidelity=self.fidelity,
            algorithm=self.algorithm,
            library=self.library,
            nccl=self.nccl,
            chunks=self.chunks,
            job=self.job,
        )
