"""Which folder of results is shown, and where."""

from typing import Annotated, ClassVar

from hocket.api.fields import argument, option
from hocket.api.parts import ResultJson
from hocket.api.request import Request

__all__ = ["ResultView"]


class ResultView(Request, frozen=True, kw_only=True, tag="view"):
    """Show a folder of results in a browser: what was run, when, by which command, what it came to, and two compared.

    Results are what commands write with --json and --report, in the folder and below. Nothing is changed, nothing
    outside the folder is shown, and only this machine is served, unless --listen says otherwise. Ctrl-C ends it.
    """

    writes_in_steps: ClassVar[bool] = True
    examples: ClassVar[tuple[str, ...]] = (
        "hocket view results/",
        "hocket view results/ --listen 127.0.0.1:9000",
        "hocket view results/ --list",
    )

    folder: Annotated[str, argument("The folder with the results.", "FOLDER")]
    listen: Annotated[str, option("Where to serve; port 0: any free one.", metavar="ADDRESS:PORT")] = "127.0.0.1:8008"
    list_runs: Annotated[bool, option("Print the runs and stop.", "--list")] = False
    json: ResultJson = None
