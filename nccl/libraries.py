"""The communication libraries that machines come with, and which of them are modelled."""

from dataclasses import dataclass

from hocket.base.registry import Entry, Registry
from hocket.topology.formats.nccl.machine import Dialect
from hocket.topology.machines.hosts import Hosts

__all__ = ["LIBRARIES", "StockLibrary", "library_of"]


@dataclass(frozen=True)
class StockLibrary(Entry):
    """`version`: the release that is modelled, where the library is."""

    version: str = ""

    @property
    def modelled(self) -> bool:
        """Whether its choices and times are known."""
        return bool(self.version)

    @property
    def title(self) -> str:
        """`NCCL 2.30.7`; `RCCL, not modelled`."""
        return f"{self.name.upper()} {self.version}" if self.modelled else f"{self.name.upper()}, not modelled"


LIBRARIES = Registry(
    "library",
    (
        StockLibrary(
            name="nccl",
            version="2.30.7",
            summary="its own model: choices, channels, constants",
            source="docs/nccl-model.md",
            example="dgx-h100:nodes=2",
        ),
        StockLibrary(
            name="rccl",
            version="2.28.3",
            summary="its choices on 8 GPUs all joined by xGMI; on one node its times, else by latency and bandwidth",
            source="docs/nccl-model.md, RCCL",
            example="mi300x:nodes=2",
        ),
    ),
)


def library_of(hosts: Hosts) -> StockLibrary:
    """What the machines' vendor ships."""
    return LIBRARIES["nccl" if hosts.machine.dialect == Dialect.NCCL else "rccl"]
