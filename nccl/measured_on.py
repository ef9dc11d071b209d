"""Where a calibration is from: what its times hold for, and nowhere else."""

from collections.abc import Iterable

import msgspec

from hocket._core.nccl import Settings
from hocket.base.errors import FormatError
from hocket.nccl.model import NcclModel
from hocket.nccl.releases import release_of
from hocket.nccl.settings import read_settings
from hocket.topology.formats.nccl.machine import NcclMachine

__all__ = ["MeasuredOn"]


class MeasuredOn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`node`: its file or preset; its GPUs, their architecture, its NICs in words; NCCL's version where the output said
    it (else empty), and the variables (NAME=VALUE) that its choices depend on."""

    node: str
    gpus: int
    sm: list[int]
    nics: str
    nccl: str = ""
    variables: list[str] = []

    @classmethod
    def of(cls, machine: NcclMachine, variables: Iterable[str] = (), version: str = "") -> "MeasuredOn":
        gpus = [*machine.gpus()]
        speeds = sorted(net.speed for net in machine.nets())
        several = [f"{speeds.count(speed)} x {speed / 1000:g} Gbit/s" for speed in dict.fromkeys(speeds)]
        architectures = sorted({gpu.sm for _, gpu in gpus})
        return cls(machine.source, len(gpus), architectures, " and ".join(several), version, sorted(variables))

    @property
    def words(self) -> str:
        """`dgx-h100 (8 GPUs of sm 90, NICs 8 x 400 Gbit/s)`."""
        architectures = " and ".join(map(str, self.sm))
        return f"{self.node} ({self.gpus} GPUs of sm {architectures}, NICs {self.nics or 'none'})"

    def refuse_elsewhere(self, model: NcclModel, path: str) -> None:
        """Raises FormatError for a model of other nodes, of another release, or with other variables."""
        here = MeasuredOn.of(model.machine)
        if (here.gpus, here.sm, here.nics) != (self.gpus, self.sm, self.nics):
            raise FormatError(
                f"{path}: was measured on {self.words}, and this is {here.words}: its times are of no other node; take"
                " a calibration of this one (hocket calibrate --nccl), or none"
            )
        known = _release_name(self.nccl) if self.nccl else None
        if known not in (None, model.release.name):
            raise FormatError(
                f"{path}: was measured with NCCL {self.nccl}, and this is {model.release.name}: ask for it"
                " (--nccl-version), or calibrate with this one"
            )
        if _values(read_settings(self.variables)) != _values(model.settings):
            own = " ".join(self.variables) or "none of NCCL's variables"
            raise FormatError(
                f"{path}: was measured with {own}, and other values are asked for: what NCCL runs depends on them; ask"
                " for the same (--set, --nccl-set, nvls=), or calibrate with these"
            )


def _release_name(version: str) -> str | None:
    """Of the release that a version is; None where it is not modelled."""
    try:
        return release_of(version).name
    except FormatError:
        return None


def _values(settings: Settings) -> dict[str, object]:
    """The variables alone: which release it is the calibration says itself."""
    names = (name for name in dir(settings) if not name.startswith("_") and name != "release")
    return {name: value for name in names if not callable(value := getattr(settings, name))}
