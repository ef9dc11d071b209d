"""Predictions that were written as JSON, read back."""

import json
from pathlib import Path
from typing import Any

from hocket.core.errors import FormatError
from hocket.core.files import read_text
from hocket.simulator.json_form import FORMAT, VERSION

__all__ = ["read_prediction"]


def read_prediction(path: Path | str) -> dict[str, Any]:
    """The JSON form of a prediction; of a folder of tables, its `prediction.json`.

    Raises FormatError, naming the file, when it is something else or of another version.
    """
    path = Path(path)
    if path.is_dir():
        path = path / "prediction.json"
    try:
        content = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path}: not JSON: {error}") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise FormatError(f"{path}: not a prediction; expected what 'hocket simulate --json' or --tables writes")
    if content.get("version") != VERSION:
        raise FormatError(
            f"{path}: version {content.get('version')} of the format; this Hocket reads version {VERSION}:"
            " simulate again"
        )
    return content
