"""From schedules and programs of one collective to a folder that a runtime can use, whole or absent."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from hocket.base.errors import HocketError, ScheduleError
from hocket.base.files import atomic_folder, write_file
from hocket.base.version import __version__
from hocket.schedule import Costs, Kind
from hocket.topology import Topology
from hocket.translator.bundle.calls import CallPrograms
from hocket.translator.bundle.contest import Compared
from hocket.translator.bundle.device_target import DeviceTarget
from hocket.translator.bundle.manifest import MANIFEST, TUNER_TABLE, Bundle, read_bundle
from hocket.translator.bundle.plan_registration import REGISTRATION
from hocket.translator.bundle.plan_target import PlanTarget
from hocket.translator.bundle.sources import Source, Sources, read_source, sources_of
from hocket.translator.bundle.stock_table import StockTable, table_readme
from hocket.translator.bundle.target import README, SCRIPT, Target, Written, XmlTarget
from hocket.translator.costs import priced_profile, priced_protocols
from hocket.translator.launching import machines
from hocket.translator.lowering.lowering import Lowering
from hocket.translator.msccl.profile import Profile
from hocket.translator.msccl.profiles import DEVICE_RUNTIME
from hocket.translator.mscclpp import PLAN_RUNTIME

__all__ = ["BundleReport", "NothingToGain", "check_replaceable", "write_bundle"]


class NothingToGain(ScheduleError):
    """No program is quicker than the stock library at any size: there is no bundle to write. `compared`: as in
    `BundleReport`."""

    def __init__(self, message: str, compared: Mapping[int, Compared]) -> None:
        super().__init__(message)
        self.compared = compared


@dataclass(frozen=True, slots=True)
class BundleReport:
    """A bundle that was written, how many executions proved its files for the sizes of their windows, and sentences on
    the sources that not all kinds of calls have a file of: which, and why. `compared`: what was, at each size that was
    asked for, of the first kind of calls."""

    bundle: Bundle
    proofs: int
    remarks: tuple[str, ...]
    compared: Mapping[int, Compared] = field(default_factory=dict)


def write_bundle(
    files: Sequence[Path | Source],
    folder: Path | str,
    runtime: str | Profile,
    lowering: Lowering | None = None,
    *,
    topology: Topology | None = None,
    root: int | None = None,
    ranks_per_node: int | None = None,
    groups: Sequence[tuple[int, ...]] = (),
    costs: Costs | None = None,
    sizes: Sequence[int] = (),
    stock_ps: Callable[[int], int] | None = None,
    stock_table: Callable[[Sequence[tuple[int, int]]], StockTable | None] | None = None,
) -> BundleReport:
    """Writes a folder of the programs of files, or of what was made and has a name, for the lowering's calls of
    `min_bytes` to `max_bytes` (0: the largest size of a source), in place, out of place or (None) both. Each schedule
    is lowered in several ways; each size is served by the program that is the quickest by simulation. Files have names
    of their own. `groups` as in `Bundle`; `costs`: what the runtime's kernels take, where that was measured; `sizes`:
    at which programs are compared, beside the sources' own; `stock_ps`: what the stock library takes for a size, which
    no file serves where that is less; `stock_table`: the table of the library's own settings, if any are to be had, for
    the sizes (least, most) that no file serves; a bundle may be that alone.

    Every program is proved before anything is written. A folder that is there is replaced when it is a
    bundle of the same collective, ranks and root.
    Raises FormatError, ScheduleError or DeadlockError, naming the file, HocketError for a folder in the way, and
    NothingToGain.
    """
    folder = Path(folder)
    earlier = check_replaceable(folder)
    members = [one if isinstance(one, Source) else read_source(one, root) for one in files]
    sources = sources_of(members, topology)
    if earlier is not None:
        _check_same(folder, earlier, sources)
    target = _target(runtime, sources, ranks_per_node, costs)
    asked = lowering or Lowering()
    asked = replace(asked, max_bytes=asked.max_bytes or sources.members[-1].size_bytes)
    both = [True, False] if sources.collective.kind is not Kind.ALL_TO_ALL else [False]
    calls = both if asked.in_place is None else [asked.in_place]
    most = None if target.max_files is None else target.max_files // len(calls)
    served: list[CallPrograms] = []
    for call in calls:
        like = served[0] if served else None
        served.append(CallPrograms(sources, target, replace(asked, in_place=call), most, sizes, stock_ps, like))
    compared = {size: served[0].compared(size) for size in sizes}
    made = [(call, window) for call in served for window in call.windows]
    left = _joined([(one.min_bytes, one.max_bytes) for call in served for one in call.left])
    table = stock_table(left) if stock_table and left else None
    if not made and left and table is None:
        raise NothingToGain("the stock library is the quickest at every size", compared)
    if not made and table is None:
        raise ScheduleError(f"{members[0].path}: no file is for {'in-place' if calls[0] else 'out-of-place'} calls")
    parts = [call.file(window, number, len(made)) for number, (call, window) in enumerate(made, 1)]
    nodes, per_node = machines(sources.topology, sources.ranks, target.ranks_per_node)
    bundle = Bundle(
        hocket=__version__,
        runtime=target.name,
        collective=sources.collective.kind,
        ranks=sources.collective.num_ranks,
        root=sources.collective.root,
        topology=sources.topology.name,
        nodes=nodes,
        ranks_per_node=per_node,
        groups=tuple(groups),
        files=tuple(file for file, _ in parts),
        tuned=() if table is None else table.settings,
    )
    written = [written for _, written in parts]
    _write(folder, bundle, written, target, table)
    return BundleReport(bundle, sum(one.proofs for one in written), _remarks(served, target, sources), compared)


def _remarks(served: Sequence[CallPrograms], target: Target, sources: Sources) -> tuple[str, ...]:
    found = []
    for source in sources.members:
        unfit = [call.unfit[source.path] for call in served if source.path in call.unfit]
        if unfit:
            found.append(f"not used: {unfit[0]}")
            continue
        other = [call.name for call in served if source.path not in call.served]
        if other:
            found.append(
                f"{source.path}: not for {' and '.join(other)} calls: a program keeps the kind that it was made for; a "
                ".schedule serves both"
            )
        if any(source.path in call.used for call in served):
            continue
        if any(source.path in call.wanted for call in served):
            found.append(f"not used: {source.path}: {target.name} loads {target.max_files} files, and others gain more")
        elif len(other) < len(served):
            found.append(f"not used: {source.path}: at every size that is asked for others are as quick")
    return tuple(found)


def _target(runtime: str | Profile, sources: Sources, ranks_per_node: int | None, costs: Costs | None) -> Target:
    if runtime == PLAN_RUNTIME:
        return PlanTarget(sources, ranks_per_node, priced_protocols(PLAN_RUNTIME, costs, sources.topology))
    profile = priced_profile(runtime, costs, sources.topology)
    return (DeviceTarget if profile.name == DEVICE_RUNTIME.name else XmlTarget)(profile)


def check_replaceable(folder: Path) -> Bundle | None:
    """The bundle that is there. Raises HocketError when writing another would remove what is no bundle's."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return None
    if not (folder / MANIFEST).is_file():
        raise HocketError(f"{folder}: exists and is no bundle; give a new folder")
    bundle = read_bundle(folder)
    known = {MANIFEST, README, SCRIPT, REGISTRATION, TUNER_TABLE, *(file.path for file in bundle.files)}
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}
    if found - known:
        raise HocketError(
            f"{folder}: holds {min(found - known)}, which is not of the bundle; move it or give a new folder"
        )
    return bundle


def _check_same(folder: Path, earlier: Bundle, sources: Sources) -> None:
    """Raises HocketError where the new bundle would take another collective's place."""
    new = sources.collective
    if (earlier.collective, earlier.ranks, earlier.root) != (new.kind, new.num_ranks, new.root):
        raise HocketError(
            f"{folder}: is a bundle of {earlier.collective} on {earlier.ranks} ranks; a bundle is of one collective: "
            f"give {new.kind} a folder of its own (beside it: HOCKET_ALGORITHMS takes a folder of bundles)"
        )


def _joined(ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges of sizes (both ends included), those that meet as one."""
    found: list[tuple[int, int]] = []
    for least, most in sorted(ranges):
        if found and least <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(found[-1][1], most)
        else:
            found.append((least, most))
    return found


def _write(folder: Path, bundle: Bundle, written: Sequence[Written], target: Target, table: StockTable | None) -> None:
    companions = target.companions(bundle) if bundle.files else {README: _of_table(bundle)}
    if table is not None:
        companions[README] += table_readme(table.settings)
    with atomic_folder(folder) as temporary:
        for file, one in zip(bundle.files, written, strict=True):
            write_file(temporary / file.path, one.text)
        manifest = msgspec.json.format(msgspec.json.encode(bundle), indent=1)
        write_file(temporary / MANIFEST, manifest + b"\n")
        if table is not None:
            write_file(temporary / TUNER_TABLE, table.text)
        for name, text in companions.items():
            write_file(temporary / name, text, 0o777 if name == SCRIPT else 0o666)


def _of_table(bundle: Bundle) -> str:
    """The beginning of the README of a bundle without programs."""
    return f"# {bundle.collective} on {bundle.ranks} ranks of {bundle.topology}, by stock NCCL alone\n"
