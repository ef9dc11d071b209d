"""What is found in a file: where, which rule, how bad, and what to do about it."""

from dataclasses import dataclass

from hocket.base.enums import StrEnum

__all__ = ["Finding", "Severity"]


class Severity(StrEnum):
    """What a finding means for the runtime it is found for."""

    #: its parser refuses the file, or crashes on it
    REJECT = "reject"
    #: its parser accepts the file, its kernels cannot run it
    KERNEL = "kernel"
    #: it runs, and computes something else, reads what it must not, or hangs
    WRONG = "wrong"
    #: it is loaded, and some sizes or every call run the library's own algorithm, or hang
    SIZE = "size"
    #: it is read, but not as it is written
    SUSPECT = "suspect"
    #: it does no harm
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Finding:
    """A broken rule. `element` is the place in the program (`rank 0 thread block 1 step 2`) or the tag, `line` 0 when
    no single line is to blame."""

    rule: str
    severity: Severity
    line: int
    element: str
    message: str
    remedy: str

    def describe(self) -> str:
        where = f"line {self.line}: " if self.line else ""
        place = f"{self.element}: " if self.element else ""
        return f"{where}{place}{self.message}" + (f"; {self.remedy}" if self.remedy else "")
