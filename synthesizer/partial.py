"""What a long search keeps beside its output until that is written, to go on after it was cut off."""

import hashlib
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hocket.base.errors import FormatError, HocketError, Stopped
from hocket.base.files import atomic_write, make_folder
from hocket.base.reading import read_text
from hocket.base.standard_output import is_standard_output

__all__ = ["Partial", "keeping"]

_REQUEST = "request.json"


@dataclass(frozen=True)
class Partial:
    """The folder FILE.partial beside the output FILE, made when there is something to keep.

    `request`: the options of the search; the same ones go on with it.
    """

    folder: Path
    request: dict[str, Any]

    @classmethod
    def beside(cls, output: Path, request: dict[str, Any]) -> "Partial":
        """Raises HocketError, naming the folder, when it keeps a search with other options."""
        request = json.loads(json.dumps(request, default=str))
        partial = cls(output.with_name(output.name + ".partial"), request)
        if (partial.folder / _REQUEST).exists():
            partial._compare()
        return partial

    def _compare(self) -> None:
        try:
            kept = json.loads(read_text(self.folder / _REQUEST))
        except (FormatError, ValueError) as error:
            raise HocketError(f"{self.folder}: keeps no search that can be read; remove it") from error
        for name in sorted(self.request.keys() | kept.keys() if isinstance(kept, dict) else self.request):
            there, here = (options.get(name) if isinstance(options, dict) else None for options in (kept, self.request))
            if there != here:
                raise HocketError(
                    f"{self.folder}: keeps an unfinished search whose {name} is {json.dumps(there)}, not "
                    f"{json.dumps(here)}; give the same options to go on with it, or remove it to start anew"
                )

    def path(self, problem: str) -> Path:
        """Where to keep what is found for a problem (any text that says what is searched, and how)."""
        make_folder(self.folder)
        with atomic_write(self.folder / _REQUEST) as file:
            json.dump(self.request, file, indent=1)
        return self.folder / f"{hashlib.sha256(problem.encode()).hexdigest()[:16]}.rounds"

    def remove(self) -> None:
        """When the output is written."""
        shutil.rmtree(self.folder, ignore_errors=True)


@contextmanager
def keeping(output: Path | None, options: dict[str, Any]) -> Iterator[Partial | None]:
    """What long searches keep beside the output, to be written within the block; nothing beside a device or standard
    output. `options`: those that decide what is found."""
    if output is None or is_standard_output(output) or not (output.is_file() or output.is_dir() or not output.exists()):
        yield None
        return
    partial = Partial.beside(output, options)
    try:
        yield partial
    except Stopped as error:
        if partial.folder.exists():
            text = f"{error}, or again: {partial.folder} keeps what was found, and the same command goes on"
            raise Stopped(text) from error
        raise
    partial.remove()
