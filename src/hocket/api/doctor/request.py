"""What a look at the installation is."""

from typing import ClassVar

from hocket.api.parts import ResultJson
from hocket.api.request import Request

__all__ = ["InstallationCheck"]


class InstallationCheck(Request, frozen=True, kw_only=True, tag="doctor"):
    """Say what is installed here, whether it works, and what each part that is missing would add.

    The engine, NCCL's plugins and PyTorch are loaded, not only looked for. Exit code 0: all that is installed works;
    1: something does not. What is optional and absent is no fault. `hocket selftest` goes on where this ends.
    """

    examples: ClassVar[tuple[str, ...]] = ("hocket doctor", "hocket doctor --json doctor.json")

    json: ResultJson = None
