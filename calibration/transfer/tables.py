"""The public tables that Hocket ships, each with its source (`tables.yaml`, and the CSV of its name in `tables/`)."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import msgspec

from hocket.base.strict_yaml import read_yaml
from hocket.calibration.curve import MeasuredCurve, curves_of
from hocket.calibration.readers.csv_table import read_csv
from hocket.calibration.transfer.features import Observed, observed, place_of
from hocket.nccl import NcclModel, read_settings
from hocket.nccl.fitted import NCCL_NAMES
from hocket.topology.machines.hosts import hosts_of

__all__ = ["PublicTable", "public_tables"]

_FOLDER = Path(__file__).parent


class _Entry(msgspec.Struct, forbid_unknown_fields=True):
    """`machine`: the preset that stands for it; `left_out`: why it tells nothing of other machines."""

    name: str
    machine: str
    source: str
    nccl: str | None = None
    variables: list[str] = []
    left_out: str | None = None


class _Index(msgspec.Struct, forbid_unknown_fields=True):
    tables: list[_Entry]


@dataclass(frozen=True, eq=False)
class PublicTable:
    """A table, whose `machine` is the preset that stands for it; `nccl`, the release where it is said."""

    name: str
    machine: str
    source: str
    nccl: str | None
    left_out: str | None
    entry: _Entry

    def curves(self) -> tuple[MeasuredCurve, ...]:
        """Those of collectives of which NCCL chooses the algorithm."""
        path = _FOLDER / "tables" / f"{self.name}.csv"
        curves = curves_of(read_csv(path.read_text("utf-8"), path.name))
        return tuple(curve for curve in curves if curve.kind in NCCL_NAMES)

    def observed(self) -> list[Observed]:
        """Its curves beside NCCL's model of the machine."""
        return [self._observed(curve) for curve in self.curves()]

    def _observed(self, curve: MeasuredCurve) -> Observed:
        hosts = hosts_of(self.machine)
        hosts = hosts if hosts.ranks == curve.ranks else hosts.times(curve.ranks)
        settings = read_settings(self.entry.variables)
        model = NcclModel(hosts.machine, hosts.nodes, settings, domain=hosts.domain)
        return observed(place_of(self.name, model, curve.kind), model, curve)


@lru_cache(maxsize=1)
def public_tables() -> tuple[PublicTable, ...]:
    """In the order of the index."""
    text = (_FOLDER / "tables.yaml").read_text("utf-8")
    index = read_yaml(text, "tables.yaml").convert(_Index)
    return tuple(
        PublicTable(each.name, each.machine, each.source, each.nccl, each.left_out, each) for each in index.tables
    )
