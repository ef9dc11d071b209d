"""For which job programs are wanted."""

from typing import Annotated, ClassVar

from hocket.api.fields import argument, option, output
from hocket.api.parts import GroupsFile
from hocket.api.request import Request

__all__ = ["JobBundle"]


class JobBundle(Request, frozen=True, kw_only=True, tag="bundle"):
    """Synthesize programs for every collective, group and size of a recorded job, as one folder that the job runs.

    HOCKET_ALGORITHMS=DIR has them run in place of the stock library's collectives. Groups whose links are alike share
    a search, and a program. A table says what each program is predicted to take, and what has none, and why.
    """

    examples: ClassVar[tuple[str, ...]] = ("hocket bundle traces/ -t dgx-h100:nodes=2 -o bundle/",)

    traces: Annotated[str, argument("A folder or prefix of traces, or a generated NAME.job.", "TRACES")]
    topology: Annotated[str, option("Spec, preset or file: where it runs.", "-t", metavar="SPEC|FILE", positional=True)]
    output: Annotated[str, output("Folder for the programs; one of an earlier job is replaced.", "-o", metavar="DIR")]
    to: Annotated[str, option("Whose programs to write.", choices="hocket.translator.targets:RUNTIMES")] = "executor"
    groups: GroupsFile = None
    json: Annotated[str | None, output("Write the table here.")] = None
