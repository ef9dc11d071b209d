"""ASTRA-sim's JSON files, read strictly: an unknown key is an error that names the nearest known one."""

import re
from pathlib import Path
from typing import TypeVar

import msgspec

from hocket.base.errors import FormatError
from hocket.base.reading import read_text
from hocket.base.strict_yaml import nearest

__all__ = ["read_json"]

Struct = TypeVar("Struct", bound=msgspec.Struct)


def read_json(path: Path | str, struct: type[Struct]) -> Struct:
    """The file as a msgspec Struct. Raises FormatError naming the file and the key."""
    try:
        return msgspec.json.decode(read_text(path), type=struct)
    except msgspec.ValidationError as error:
        message, _, where = str(error).partition(" - at `$")
        if unknown := re.fullmatch(r"Object contains unknown field `(.*)`", message, re.DOTALL):
            known = [field.encode_name for field in msgspec.structs.fields(struct)]
            raise FormatError(f"{path}: unknown key '{unknown[1]}'; {nearest(unknown[1], known)}") from error
        raise FormatError(f"{path}: {where.strip('.`') or 'the file'}: {message}") from error
    except msgspec.DecodeError as error:
        raise FormatError(f"{path}: not JSON: {error}") from error
    except RecursionError as error:
        raise FormatError(f"{path}: nested too deeply") from error
