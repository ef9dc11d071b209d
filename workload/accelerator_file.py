"""Accelerators in files: what `hocket calibrate --kernels` writes and `--accelerator FILE` reads."""

from pathlib import Path

import msgspec

from hocket.base.files import write_file
from hocket.base.reading import read_text
from hocket.base.strict_yaml import read_yaml

__all__ = ["is_accelerator_file", "read_spec", "write_spec"]


class _File(msgspec.Struct, forbid_unknown_fields=True):
    accelerator: str
    errors: dict[str, float] = {}
    measured: str = ""


def is_accelerator_file(text: str) -> bool:
    return text.endswith((".yaml", ".yml")) and "," not in text and "=" not in text


def read_spec(path: Path | str) -> str:
    """What `parse_accelerator` reads. Raises FormatError, naming file and line, for another file."""
    return read_yaml(read_text(path), str(path)).convert(_File).accelerator


def write_spec(path: Path | str, spec: str, errors: dict[str, float], measured: str, comment: str) -> None:
    """Writes the file; `errors` are factors either way (95 %) of the fitted figures, `measured` says what of."""
    lines = [f"accelerator: {_quoted(spec)}", f"measured: {_quoted(measured)}", "errors:"]
    lines += [f"  {name}: {factor:.4f}" for name, factor in errors.items()]
    write_file(path, comment + "\n".join(lines) + "\n")


def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode()
