"""What a comparison of two predictions is."""

from typing import Annotated, ClassVar

from hocket.api.fields import argument, option, output
from hocket.api.request import Request

__all__ = ["Comparison"]


class Comparison(Request, frozen=True, kw_only=True, tag="compare"):
    """Compare two predictions: time, lower bound, exposed communication, collectives, groups, ranks and links."""

    examples: ClassVar[tuple[str, ...]] = ("hocket compare before.json after.json --tolerance 0.02",)

    first: Annotated[str, argument("A prediction: JSON of hocket simulate, or a folder of its --tables.", "FIRST")]
    second: Annotated[str, argument("Another, compared with the first.", "SECOND")]
    tolerance: Annotated[
        float, option("Exit with 1 when the second is slower by more than this share: 0.02 is 2 %.", ge=0)
    ] = 0.0
    json: Annotated[str | None, output("Write all differences here.")] = None
