"""Rules of attributes: which an element must have, and which values are names or numbers."""

from collections.abc import Iterator

import numpy as np

from hocket.schedule import BUFFERS
from hocket.translator.msccl.columns import TYPES, DocumentColumns
from hocket.translator.msccl.document import Document, ElementTable
from hocket.translator.msccl.findings import Finding, Severity
from hocket.translator.msccl.profile import Profile
from hocket.translator.msccl.profiles import PROFILES

__all__ = ["name_findings", "presence_findings"]

_NUMBERS = {
    "algo": ("nchannels", "nchunksperloop", "ngpus", "inplace", "outofplace", "minBytes", "maxBytes", "nthreads"),
    "gpu": ("id", *(f"{name}_chunks" for name in BUFFERS)),
    "tb": ("id", "send", "recv", "chan"),
    "step": ("s", "srcoff", "dstoff", "cnt", "depid", "deps", "hasdep"),
}
_NAMES = {"algo": ("proto", "coll"), "gpu": (), "tb": (), "step": ("type", "srcbuf", "dstbuf")}
_OPTIONAL = ("nthreads", "outofplace", "minBytes", "maxBytes")
_COMMON = frozenset.intersection(*(profile.attributes for profile in PROFILES.values()))


def _tables(document: Document) -> Iterator[tuple[str, ElementTable]]:
    yield from (("algo", document.algorithm), ("gpu", document.gpus), ("tb", document.blocks), ("step", document.steps))


def presence_findings(document: Document, profile: Profile) -> Iterator[tuple[Finding, bool]]:
    """Attributes that are missing or no numbers, and whether nothing can be executed without them."""
    for tag, table in _tables(document):
        required = {key for key in (*_NUMBERS[tag], *_NAMES[tag]) if key not in _OPTIONAL}
        wanted = sorted(required | (profile.attributes if tag == "algo" else set()))
        for key in wanted:
            for row in table.rows[~table.has(key)][:1]:
                message = f"has no attribute {key}, which is required"
                finding = _at(document, int(row), "attribute", Severity.REJECT, tag, message, f'add {key}="..."')
                yield finding, key in _COMMON or tag != "algo"
        for key in _NUMBERS[tag]:
            strange = table.has(key) & ~document.are_numbers[table.value(key)]
            for position in np.flatnonzero(strange)[:1].tolist():
                message = (
                    f'{key}="{table.text(key, position)}" is not an integer; the runtimes read '
                    f"{table.number(key)[position]}"
                )
                row = int(table.rows[position])
                yield _at(document, row, "number", Severity.SUSPECT, tag, message, "write a number"), False
    for row in document.all_gpus.rows[~document.all_gpus.has("id")][:1]:
        message = "has no attribute id, which is required"
        yield _at(document, int(row), "attribute", Severity.REJECT, "gpu", message, 'add id="..."'), True


def name_findings(columns: DocumentColumns, profile: Profile) -> Iterator[tuple[Finding, bool]]:
    """Values that are not among the names that the runtime knows, and whether no other runtime knows them either."""
    document = columns.document
    everywhere = {name for each in PROFILES.values() for name in each.collective_names.values()}
    own = {*profile.collective_names.values(), *profile.other_collectives}
    collective = document.algorithm.text("coll", 0)
    if collective not in own:
        yield _unknown(document, document.algorithm, "algo", "coll", 0, sorted(own)), collective not in everywhere
    elif collective in profile.other_collectives:
        message = f'coll="{collective}" is parsed, but no call of it is known to run a file'
        row = int(document.algorithm.rows[0])
        yield _at(document, row, "collective", Severity.KERNEL, "algo", message, "use another collective"), True
    for tag, table, key, names in (
        ("algo", document.algorithm, "proto", list(profile.protocols)),
        ("step", document.steps, "type", [name for name in TYPES if name != "ra" or name in profile.other_types]),
        ("step", document.steps, "srcbuf", list(BUFFERS)),
        ("step", document.steps, "dstbuf", list(BUFFERS)),
    ):
        for position in np.flatnonzero(table.among(key, names) < 0)[:1].tolist():
            yield _unknown(document, table, tag, key, position, names), True


def _unknown(document: Document, table: ElementTable, tag: str, key: str, position: int, names: list[str]) -> Finding:
    message = f'{key}="{table.text(key, position)}" is not one of {", ".join(names)}'
    return _at(document, int(table.rows[position]), "name", Severity.REJECT, tag, message, "use one of them")


def _at(document: Document, row: int, rule: str, severity: Severity, tag: str, message: str, remedy: str) -> Finding:
    return Finding(rule, severity, document.line(int(document.start[row])), f"<{tag}>", message, remedy)
