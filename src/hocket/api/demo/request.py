"""What the demo does."""

from typing import Annotated, ClassVar

from hocket.api.fields import option
from hocket.api.fields import output as written
from hocket.api.parts import ResultJson
from hocket.api.request import Request

__all__ = ["Demo"]


class Demo(Request, frozen=True, kw_only=True, tag="demo"):
    """Collect a training run, predict it on three clusters, synthesize, verify, translate, run, report."""

    writes_in_steps: ClassVar[bool] = True
    examples: ClassVar[tuple[str, ...]] = ("hocket demo --output demo",)

    output: Annotated[
        str, written("Folder for everything that the demo writes.", "-o", "--output", "--out", metavar="DIR")
    ] = "demo"
    torch: Annotated[bool | None, option("Train for real, or use recorded traces.", "--torch/--no-torch")] = None
    json: ResultJson = None
