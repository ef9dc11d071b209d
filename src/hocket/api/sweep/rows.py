"""The rows of a sweep: each is a request, the same as `hocket simulate` makes of its options."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from typing import Any

from hocket.api.request import Request
from hocket.api.simulate.request import Simulation
from hocket.base.errors import RequestError
from hocket.base.reading import content_digest
from hocket.base.version import __version__

__all__ = ["KEYS", "alternatives", "files_of", "grid", "key_of", "keys_of", "plain_cell", "row_columns"]

#: What may vary: every field of a simulation that does not name an output. `collective` is another name of `what`.
KEYS = tuple(
    field.name
    for field in Simulation.fields()
    if field.path[0] not in ("outputs", "astra") and field.name not in ("late", "traffic")
)
_ANSWERS = 2  # a number more whenever rows are answered otherwise: kept answers are then asked again
#: Columns that every sweep has, by the field that they tell, and what a row has that does not say.
_ALWAYS = {
    "topology": ("topology", ""),
    "what": ("collective", ""),
    "size": ("size_bytes", 0),
    "algorithm": ("algorithm", "default"),
    "model": ("model", "congestion"),
    "switching": ("switching", "cut_through"),
    "queueing": ("queueing", "fifo"),
    "chunks": ("chunks_per_rank", 1),
    "root": ("root", 0),
}


def grid(**varied: Any) -> list[Simulation]:
    """Every combination of the values of fields, once: a value, or a sequence of alternatives. Sizes (bytes, or texts
    such as 64MiB) vary fastest. Raises RequestError for what is no field that may vary."""
    if "collective" in varied:
        varied["what"] = varied.pop("collective")
    for name in varied:
        if name not in KEYS:
            raise RequestError(f"a sweep has no key '{name}'; known: collective, {', '.join(KEYS)}")
    order = ["topology", "what", *(name for name in varied if name not in ("topology", "what", "size")), "size"]
    names = [name for name in order if name in varied]
    return [
        Simulation.of(**dict(zip(names, values, strict=True)))
        for values in product(*(alternatives(name, varied[name]) for name in names))
    ]


def alternatives(name: str, value: Any) -> Sequence[Any]:
    """The values of a field that varies, or the one of a field that does not."""
    values = value if isinstance(value, list | tuple | range) else [value]
    # `*=fifo,nvlink=priority`: one alternative that says several classes of links
    return [str(each).split(",") for each in values] if name in ("switching", "queueing") else values


def keys_of(rows: Iterable[Simulation]) -> list[str]:
    """Names each row, the files that it names as they are now, and the version of Hocket that answers it (32
    hexadecimal digits)."""
    digest = cache(content_digest)  # of many rows; for once only: the next time files may be others
    return [key_of(row.to_json(), files_of(row, digest)) for row in rows]


def key_of(content: str, files: Iterable[str]) -> str:
    """The key of a row that asks for `content`, of files with these digests."""
    return hashlib.sha256(repr((__version__, _ANSWERS, content, [*files])).encode()).hexdigest()[:32]


def files_of(row: Request, digest: Callable[[str], str]) -> Iterator[str]:
    """What `digest` says of each text of a request: of the files that it names."""
    for value in row.set_fields().values():
        for each in value if isinstance(value, tuple) else (value,):
            if isinstance(each, str):
                yield digest(each)


def row_columns(rows: Sequence[Simulation]) -> Mapping[str, list[Any]]:
    """What the rows ask, as columns: those of a collective always, others where a row gives them."""
    set_fields = [row.set_fields() for row in rows]
    also = [name for name in KEYS if name not in _ALWAYS and any(name in fields for fields in set_fields)]
    defaults = {field.name: field.default for field in Simulation.fields()}
    columns = {
        column: [plain_cell(fields.get(name), default) for fields in set_fields]
        for name, (column, default) in _ALWAYS.items()
    }
    return columns | {
        name: [plain_cell(fields.get(name, defaults[name]), "") for fields in set_fields] for name in also
    }


def plain_cell(value: Any, default: Any) -> Any:
    """A cell: lists as texts."""
    if value is None:
        return default
    if isinstance(default, int):
        return int(value)
    return ",".join(value) if isinstance(value, tuple) else str(value)
