"""What a runtime's kernels take, in files: what `hocket calibrate --runtime` writes and `--costs FILE` reads."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from hocket.base.errors import FormatError
from hocket.base.files import write_file
from hocket.base.reading import YAML, read_text
from hocket.base.strict_yaml import read_yaml
from hocket.base.units import exact_bandwidth, exact_time, parse_bandwidth, parse_time
from hocket.schedule.pace import Pace
from hocket.schedule.protocols import Protocol

__all__ = ["Costs", "read_costs", "write_costs"]

_MEGA = 10**6


@dataclass(frozen=True, slots=True)
class Costs:
    """Of a `runtime`, by protocol; `measured`: where, and of what."""

    runtime: str
    paces: Mapping[str, Pace]
    measured: str = ""

    def of(self, protocols: Mapping[str, Protocol]) -> dict[str, Protocol]:
        """The runtime's protocols at these paces; those that were not measured as they are."""
        return {name: replace(one, pace=self.paces.get(name, one.pace)) for name, one in protocols.items()}


class _Kernels(msgspec.Struct, forbid_unknown_fields=True):
    launch: str
    step: str
    block: str
    between: str = ""
    between_block: str = ""
    buffers: int = 1
    covered: int = 0


class _File(msgspec.Struct, forbid_unknown_fields=True):
    runtime: str
    costs: dict[str, _Kernels]
    measured: str = ""


def read_costs(path: Path | str) -> Costs:
    """Raises FormatError, naming file and line, for another file."""
    document = read_yaml(read_text(path, YAML), str(path))
    file = document.convert(_File)
    paces = {}
    for name, one in file.costs.items():
        try:
            paces[name] = _pace(one)
        except FormatError as error:
            raise FormatError(f"{document.where(f'$.costs.{name}')}: {error}") from error
    return Costs(file.runtime, paces, file.measured)


def _pace(kernels: _Kernels) -> Pace:
    step = parse_time(kernels.step)
    return Pace(
        start_ps=parse_time(kernels.launch),
        inside_ps=step,
        between_ps=parse_time(kernels.between) if kernels.between else step,
        bandwidth=_bandwidth("block", kernels.block),
        buffers=kernels.buffers,
        between_bandwidth=_bandwidth("between_block", kernels.between_block) if kernels.between_block else 0,
        covered=kernels.covered,
    )


def _bandwidth(name: str, text: str) -> int:
    bandwidth = parse_bandwidth(text)
    if bandwidth < _MEGA:
        raise FormatError(f"{name}: {text}: expected at least 1 MB/s")
    return bandwidth


def write_costs(path: Path | str, costs: Costs, comment: str = "") -> None:
    """Writes the file."""
    lines = [f"runtime: {costs.runtime}", f"measured: {_quoted(costs.measured)}", "costs:"]
    for name, pace in costs.paces.items():
        lines += [f"  {name}:", *(f"    {key}: {value}" for key, value in _plain(pace).items())]
    write_file(path, comment + "\n".join(lines) + "\n")


def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode()


def _plain(pace: Pace) -> dict[str, str | int]:
    times = {"launch": pace.start_ps, "step": pace.inside_ps, "between": pace.between_ps}
    return {
        **{name: exact_time(value) for name, value in times.items()},
        "block": exact_bandwidth(pace.bandwidth),
        **({"between_block": exact_bandwidth(pace.between_bandwidth)} if pace.between_bandwidth else {}),
        "buffers": pace.buffers,
        **({"covered": pace.covered} if pace.covered else {}),
    }
