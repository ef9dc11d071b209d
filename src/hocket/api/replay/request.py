"""Which traces are to be replayed, and how."""

from typing import Annotated, ClassVar

from hocket.api.fields import argument, option, output
from hocket.api.parts import GroupsFile
from hocket.api.request import Request

__all__ = ["Replay"]


class Replay(Request, frozen=True, kw_only=True, tag="replay"):
    """Replay a trace's collectives and messages on real ranks, and compare the times.

    Started by torchrun, mpiexec or srun it is one of their ranks; else it starts its own on this machine.
    """

    writes_in_steps: ClassVar[bool] = True
    examples: ClassVar[tuple[str, ...]] = (
        "hocket replay traces/ --backend gloo --topology ring:4,bandwidth=12.5GB/s,latency=2us",
        "hocket replay traces/ --backend mpi  # behind mpiexec -n 4, or: torchrun ... -m hocket.replay traces/",
    )

    traces: Annotated[str, argument("A folder of PREFIX.<rank>.et files, or a prefix.", "TRACES")]
    backend: Annotated[
        str,
        option("Through torch.distributed (gloo, nccl), or mpi.", choices="hocket.runtime.replay.connect:BACKENDS"),
    ] = "gloo"
    ranks: Annotated[int | None, option("Ranks; must be the traces'.", "-n")] = None
    topology: Annotated[
        str | None,
        option("Also predict them on this topology.", "--topology", "-t", metavar="SPEC|FILE", positional=True),
    ] = None
    model: Annotated[str, option("The prediction's.", choices="hocket.simulator:Model")] = "congestion"
    compute: Annotated[str, option("How computation is replayed.", choices="hocket.runtime.replay.compute:Compute")] = (
        "sleep"
    )
    compute_scale: Annotated[str, option("Multiplies recorded computation times: 0.02, 1/50.")] = "1"
    accelerator: Annotated[
        str | None,
        option(
            "Prices computations without a duration: a published one, or peak=989TFLOP/s,...",
            known="hocket.workload.accelerators:ACCELERATORS",
        ),
    ] = None
    remote_memory: Annotated[
        str | None, option("Prices memory nodes without one: latency=1us,bandwidth=100GB/s[,ranks=8|all].")
    ] = None
    iterations: Annotated[int, option("Timed iterations of the whole trace.", "--iterations", "--steps", ge=1)] = 5
    warmup: Annotated[int, option("Untimed iterations before them.", ge=0)] = 1
    groups: GroupsFile = None
    timeout: Annotated[float, option("Seconds that a rank may wait for one operation.", ge=0.1, le=1e6)] = 300.0
    json: Annotated[str | None, output("Write the comparison here.")] = None
    report: Annotated[str | None, output("Write a report here (.html).")] = None
