"""Types of the elements that a replay moves."""

from collections.abc import Iterable
from dataclasses import dataclass

from hocket.base.element_types import element_type

__all__ = ["Element", "element_of"]

# What takes the place of a type that a backend does not have, or cannot add.
_STAND_INS = {1: "uint8", 2: "int16", 4: "int32", 8: "int64"}


@dataclass(frozen=True)
class Element:
    """`name` is PyTorch's, such as bfloat16."""

    name: str
    size_bytes: int

    def within(self, known: Iterable[str]) -> "Element":
        """This type where it is known, else an integer of its size, else bytes."""
        if self.name in known:
            return self
        stand_in = _STAND_INS.get(self.size_bytes, "")
        return Element(stand_in, self.size_bytes) if stand_in in known else Element("uint8", 1)


def element_of(dtype: str, blocks: Iterable[int]) -> Element:
    """The type recorded, where it divides all blocks (bytes); float32 where none was recorded; else bytes."""
    known = element_type(dtype or "float32")
    element = Element(known.name, known.num_bytes) if known else Element(dtype, 0)
    fits = element.size_bytes > 0 and not any(block % element.size_bytes for block in blocks)
    return element if fits else Element("uint8", 1)
