"""Tables of rules for NCCL's tuner plugin, as the plugin itself reads them: docs/nccl.md describes the format."""

from pathlib import Path

from hocket._core.nccl import CommunicatorRules, TunerConstant, TunerRule, TunerTable
from hocket.core.errors import FormatError

__all__ = ["CommunicatorRules", "TunerConstant", "TunerRule", "TunerTable", "read_tuner_table"]


def read_tuner_table(path: Path | str) -> TunerTable:
    """The rules and constants of a file. Raises FormatError naming every line that the plugin would not take."""
    try:
        table = TunerTable(Path(path).read_bytes())
    except OSError as error:
        raise FormatError(f"{path}: {error.strerror}") from error
    if table.problems:
        raise FormatError("\n".join(f"{path}:{line}: {text}" for line, text in table.problems))
    return table
