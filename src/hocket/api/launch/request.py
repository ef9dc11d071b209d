"""Which job is launched, with which programs."""

from typing import Annotated, ClassVar

from hocket.api.fields import argument, option
from hocket.api.parts import MpiCompiler, ResultJson
from hocket.api.request import Request
from hocket.plugin.serve import VARIABLE

__all__ = ["Launch"]


class Launch(Request, frozen=True, kw_only=True, tag="launch"):
    """Run an MPI job by its own launch line, and serve its collectives by proved programs wherever one fits.

    At the end says on standard error how often each program ran, and what MPI's own algorithms did and why; as JSON
    into the file that HOCKET_ALGORITHMS_REPORT names. The exit code is the job's.
    """

    writes_in_steps: ClassVar[bool] = True
    examples: ClassVar[tuple[str, ...]] = ("hocket launch --algorithms bundle/ mpiexec -n 4 python script.py",)
    launches: ClassVar[bool] = True

    command: Annotated[tuple[str, ...], argument("The job's launch line.", "LAUNCHER ...")]
    algorithms: Annotated[
        str,
        option("Bundles, folders and files of programs, with colons.", metavar="BUNDLES", variable=VARIABLE),
    ]
    mpicc: MpiCompiler = ""
    json: ResultJson = None
