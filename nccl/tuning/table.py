"""Tables of rules for NCCL's tuner plugin, as the plugin itself reads them: docs/nccl-tuner.md describes the format."""

from pathlib import Path

from hocket._core.nccl import CommunicatorRules, TunerConstant, TunerRule, TunerTable, limits_channels
from hocket.base.errors import FormatError
from hocket.base.reading import read_bytes

__all__ = [
    "CommunicatorRules",
    "TunerConstant",
    "TunerRule",
    "TunerTable",
    "limits_channels",
    "parse_tuner_table",
    "read_tuner_table",
]


def parse_tuner_table(path: Path | str) -> TunerTable:
    """What a file holds, its `problems` among it. Raises FormatError where it cannot be read at all."""
    return TunerTable(read_bytes(path))


def read_tuner_table(path: Path | str) -> TunerTable:
    """The rules and constants of a file. Raises FormatError naming every line that the plugin would not take."""
    table = parse_tuner_table(path)
    if table.problems:
        raise FormatError(*(f"{path}:{line}: {text}" for line, text in table.problems))
    return table
