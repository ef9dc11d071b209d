"""What a communicator measured, and what it runs for that: a table that is the same on all ranks, and its file."""

import json
import zlib
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hocket.base.errors import FormatError, HocketError
from hocket.base.files import atomic_write
from hocket.base.text import printable
from hocket.base.text_table import text_table
from hocket.base.units import format_bytes, format_time
from hocket.schedule import Kind

__all__ = ["STOCK", "TunedChoices", "TunedSize"]

#: In place of a program's position: the stock library's own algorithm.
STOCK = -1
_FORMAT, _VERSION = "hocket tuning", 1
_PS = 1000  # in a nanosecond


@dataclass(frozen=True, slots=True)
class TunedSize:
    """Of calls of a collective of up to `size_bytes` of a rank's whole buffer, above those of the row before: how long
    each candidate took, in ns, by its position in the bundle or STOCK. `root`: -1 where there is none."""

    kind: Kind
    root: int
    size_bytes: int
    times_ns: Mapping[int, int]

    @property
    def choice(self) -> int:
        """The quickest; of equals the stock library, then who comes first in the bundle."""
        return min(self.times_ns, key=lambda number: (self.times_ns[number], number))


class TunedChoices:
    """Rows by collective, root and size. `names`: of the bundle's programs, by position; `made_for`: by what the
    measured calls were run, which has to be so where the table is used; `remarks`: what else is known of its making."""

    def __init__(
        self,
        rows: Sequence[TunedSize],
        names: Sequence[str],
        made_for: Mapping[str, Any],
        remarks: Mapping[str, Any],
    ) -> None:
        self.rows = sorted(rows, key=lambda row: (row.kind, row.root, row.size_bytes))
        self.made_for, self.remarks = dict(made_for), dict(remarks)
        self._names = list(names)
        self._by_call: dict[tuple[Kind, int], list[TunedSize]] = {}
        for row in self.rows:
            self._by_call.setdefault((row.kind, row.root), []).append(row)

    def choice(self, kind: Kind, root: int, size_bytes: int) -> int | None:
        """What serves a call: a program's position, STOCK, or None where no call so large was measured."""
        rows = self._by_call.get((kind, root), [])
        place = bisect_left(rows, size_bytes, key=lambda row: row.size_bytes)
        return rows[place].choice if place < len(rows) else None

    @property
    def checksum(self) -> int:
        """Equal for tables that choose alike."""
        return zlib.crc32(repr([(row.kind, row.root, row.size_bytes, row.choice) for row in self.rows]).encode())

    def describe(self) -> str:
        """As text; times are medians of a call, on the slowest rank."""
        where = ", ".join(f"{key} {value}" for key, value in self.made_for.items() if key != "programs")
        if not self.rows:
            return f"hocket: nothing was measured ({printable(where)})"
        table = text_table(("collective", "up to", "runs", "time", "stock", "of"), self._cells(), align="<><>>>")
        return "\n".join([f"hocket: the quickest of what was measured ({printable(where)}):", *table])

    def _cells(self) -> Iterator[tuple[object, ...]]:
        for row in self.rows:
            root = f" from {row.root}" if row.root >= 0 else ""
            time, stock = (format_time(row.times_ns[number] * _PS) for number in (row.choice, STOCK))
            yield (
                f"{row.kind}{root}",
                format_bytes(row.size_bytes),
                self._name(row.choice),
                time,
                stock,
                len(row.times_ns),
            )

    def _name(self, number: int) -> str:
        return "stock" if number == STOCK else self._names[number]

    def save(self, path: str | Path) -> None:
        """Raises HocketError where the file cannot be written."""
        content = {
            "format": _FORMAT,
            "version": _VERSION,
            "made_for": self.made_for,
            "remarks": self.remarks,
            "rows": [
                {
                    "collective": row.kind,
                    "root": row.root,
                    "size_bytes": row.size_bytes,
                    "times": [
                        {"position": number, "program": self._name(number), "ns": time}
                        for number, time in row.times_ns.items()
                    ],
                }
                for row in self.rows
            ],
        }
        with atomic_write(path) as file:
            json.dump(content, file, indent=2)

    @classmethod
    def load(cls, path: str | Path, names: Sequence[str], made_for: Mapping[str, Any]) -> "TunedChoices":
        """Raises HocketError, naming the file, for one that cannot be read, or was made for something else."""
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
            if (content["format"], content["version"]) != (_FORMAT, _VERSION):
                raise FormatError(f"{path}: no tuning table of version {_VERSION}: tune again")
            for key, value in made_for.items():
                if content["made_for"].get(key) != value:
                    there = content["made_for"].get(key)
                    raise HocketError(f"{path}: made for {key} {there}, and here are {key} {value}: tune again")
            rows = [_row(row, len(names)) for row in content["rows"]]
            return cls(rows, names, made_for, content["remarks"])
        except OSError as error:
            raise HocketError(f"{path}: {error.strerror}") from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise FormatError(f"{path}: no tuning table ({type(error).__name__}: {error}): tune again") from error


def _row(row: Mapping[str, Any], programs: int) -> TunedSize:
    times = {int(one["position"]): int(one["ns"]) for one in row["times"]}
    if STOCK not in times or not all(STOCK <= number < programs for number in times):
        raise ValueError("a row names a program that is not there, or no time of the stock library")
    return TunedSize(Kind(row["collective"]), int(row["root"]), int(row["size_bytes"]), times)
