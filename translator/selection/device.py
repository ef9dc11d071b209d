"""Which program of a bundle the device engine runs for a call, and why not each other one."""

from pathlib import Path

from hocket.base.units import format_bytes
from hocket.translator.bundle.manifest import BundleFile, read_bundle
from hocket.translator.selection.msccl import Choice, RuntimeCall, Selection

__all__ = ["select_for_device"]

_NAMES = {True: "in-place", False: "out-of-place"}


def select_for_device(folder: Path, call: RuntimeCall) -> Selection:
    """As jobs and `hocket run --transport device` do: the first of the bundle for the collective, the ranks, the kind
    of call and the size, which is padded where chunks do not divide it; one for the other kind of calls, on a copy,
    where there is none for this one. Raises FormatError for a bundle that cannot be read."""
    bundle = read_bundle(folder)
    what = f"{bundle.collective} on {bundle.ranks} ranks"
    if (bundle.collective, bundle.ranks) != (call.kind, call.num_ranks):
        other = f"the bundle is of {what}, not of {call.kind} on {call.num_ranks}"
        return Selection(tuple(Choice(folder / file.path, False, other) for file in bundle.files), ())
    own = any(file.in_place == call.in_place for file in bundle.files)
    choices: list[Choice] = []
    served = False
    for file in bundle.files:
        why = _why_not(file, call, own)
        runs = not served and why is None
        copied = "" if file.in_place == call.in_place else " on a copy"
        reason = why or (f"{_window(file)}{copied}" if runs else "one before it is for this call too")
        choices.append(Choice(folder / file.path, runs, reason))
        served |= runs
    return Selection(tuple(choices), ())


def _why_not(file: BundleFile, call: RuntimeCall, own: bool) -> str | None:
    if own and file.in_place != call.in_place:
        return f"for {_NAMES[file.in_place]} calls, and there are programs for {_NAMES[call.in_place]} ones"
    if not file.min_bytes <= call.size_bytes <= file.max_bytes:
        return f"{_window(file)}, not {format_bytes(call.size_bytes)}"
    return None


def _window(file: BundleFile) -> str:
    return f"for {format_bytes(file.min_bytes)} to {format_bytes(file.max_bytes)}"
