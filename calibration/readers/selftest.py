"""The file of `hocket selftest`: the tables of the stock library in it."""

import json

from hocket.base.archives import read_archive
from hocket.base.errors import FormatError
from hocket.base.selftest_file import FORMAT, MANIFEST, STOCK_TABLES, VERSION
from hocket.calibration.measurement import Assumed, Measurement
from hocket.calibration.readers.nccl_tests import read_nccl_tests

__all__ = ["read_selftest"]


def read_selftest(path: str, assumed: Assumed, *, partial: bool = False) -> tuple[Measurement, ...]:
    """What the stock library was measured at: on the GPUs where it was, else on the CPU cores.

    Raises FormatError, naming file and part, for another zip, another version, a file without such a table, and what
    `read_nccl_tests` refuses.
    """
    members = read_archive(path)
    try:
        manifest = json.loads(members[MANIFEST])
        is_ours = manifest["format"] == FORMAT
    except (KeyError, ValueError, TypeError):
        is_ours = False
    if not is_ours:
        raise FormatError(f"{path}: a zip, but not of hocket selftest: unpack it and give the files that were measured")
    if manifest.get("version") != VERSION:
        raise FormatError(
            f"{path}: version {manifest.get('version')} of hocket selftest's file, known is {VERSION}: make it anew"
        )
    for name in STOCK_TABLES:
        if text := members.get(name, b"").decode("utf-8", "replace").strip():
            return read_nccl_tests(text, f"{path}: {name}", assumed, partial=partial)
    raise FormatError(f"{path}: no table of the stock library: part stock did not run; {_why(manifest)}")


def _why(manifest: dict[str, object]) -> str:
    parts = manifest.get("parts")
    part = parts.get("stock") if isinstance(parts, dict) else None
    reasons = part.get("reasons", []) if isinstance(part, dict) else []
    return f"it says: {reasons[0]}" if reasons else "run hocket selftest anew"
