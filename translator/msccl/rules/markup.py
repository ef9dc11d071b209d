"""Rules of the text itself: NCCL's tokenizer, the elements its loaders keep, and how many."""

import re
from collections.abc import Iterator

import numpy as np

from hocket.translator.msccl.document import Document, ElementTable, Flaw, Level, Stop
from hocket.translator.msccl.findings import Finding, Severity
from hocket.translator.msccl.profile import Profile

__all__ = ["markup_findings"]

# What people write because XML allows it and NCCL's tokenizer does not, in the order to look for it.
_FOREIGN = [
    (re.compile(rb"\xef\xbb\xbf"), "a byte-order mark", "save the file without one"),
    (re.compile(rb"<\?"), "an XML declaration", "remove it"),
    (
        re.compile(rb"<!--"),
        "a comment that does not end, or whose first word is long or has an =",
        "put a space after <!--",
    ),
    (re.compile(rb"<!"), "a DOCTYPE or CDATA", "remove it"),
    (re.compile(rb"\t"), "a TAB", "use spaces"),
    (re.compile(rb"<[^<>]*'"), "single quotes", "write attribute values in double quotes"),
    (
        re.compile(rb"<[^<>\"]*(?:\"[^\"]*\"[^<>\"]*)*[\n\r\t]"),
        "a line break or TAB inside an element",
        "write one element per line",
    ),
    (re.compile(rb"[^<]"), "text outside the elements", "remove it"),
]
_STOPS = {
    Stop.END_OF_FILE: ("the file ends inside an element", "is the file cut short?"),
    Stop.TEXT_OUTSIDE: ("text outside the elements", "remove it"),
    Stop.LONG_NAME: ("a name of more than 253 characters", "shorten it"),
    Stop.UNQUOTED_VALUE: ("a value without quotes", 'write key="value"'),
    Stop.VALUE_WITHOUT_ATTRIBUTE: ("a value where no attribute may be", 'write <name key="value" ...>'),
    Stop.BROKEN_ELEMENT: ("an element that does not end with > or />", 'write <name key="value" ...>'),
    Stop.BROKEN_CLOSING: ("a closing element with more than a name", "write </name>"),
    Stop.UNCLOSED: ("an element that is never closed", "is the file cut short?"),
}
_MAX_VALUE = 255


def markup_findings(document: Document, profile: Profile) -> Iterator[Finding]:
    """What keeps the loaders of a runtime from reading the file, or makes them read it otherwise than it is written."""
    if document.stop != Stop.NONE:
        yield _stopped(document)
        return
    if not len(document.algorithms):
        yield Finding("algorithm", Severity.REJECT, 1, "", "has no <algo> element at the top", "is this MSCCL XML?")
        return
    if document.depth > profile.max_depth:
        message = f"elements lie {document.depth} deep; the parsers recurse, and overflow their stack"
        yield Finding("depth", Severity.REJECT, 0, "", message, "remove what is not MSCCL XML")
    yield from _closings(document)
    yield from _numbers(document, profile)
    if len(document.algorithms) > 1:
        line = document.line(int(document.start[document.algorithms.rows[1]]))
        message = "a second <algo> follows; a file holds one, the runtimes ignore the rest"
        yield Finding("second algorithm", Severity.SUSPECT, line, "<algo>", message, "give it a file of its own")
    yield from _attributes(document)


def _stopped(document: Document) -> Finding:
    at = document.stopped_at
    reason, remedy = _STOPS[document.stop]
    for pattern, foreign, instead in _FOREIGN:
        if document.stop != Stop.UNCLOSED and pattern.match(document.content, at):
            reason, remedy = foreign, instead
            break
    if b"<!DOCTYPE" in document.content[:at]:  # whose parts the tokenizer takes for elements
        reason, remedy = "a DOCTYPE", "remove it; the runtimes know no entities"
    elif not document.content[:at].strip():
        remedy += ", if this is MSCCL XML at all"
    message = f'expected <name key="value" ...>, found {reason}'
    return Finding("markup", Severity.REJECT, document.line(at), "", message, remedy)


def _tables(document: Document) -> Iterator[tuple[str, ElementTable]]:
    yield from (
        ("algo", document.algorithm),
        ("gpu", document.all_gpus),
        ("tb", document.blocks),
        ("step", document.steps),
    )


def _closings(document: Document) -> Iterator[Finding]:
    for tag, table in _tables(document):
        for row in table.rows[table.flawed(Flaw.CLOSED_BY_OTHER_NAME)][:1]:
            message = "is closed by an element of another name"
            yield _at(document, row, "closing", Severity.REJECT, tag, message, f"write </{tag}>")
    steps = document.steps
    for row in steps.rows[steps.flawed(Flaw.HAS_CHILD)][:1]:
        message = "has an element inside, on which the parsers crash"
        yield _at(document, row, "step child", Severity.REJECT, "step", message, "move it out")


def _numbers(document: Document, profile: Profile) -> Iterator[Finding]:
    """Elements that a rank keeps, and children of one element."""
    gpus, blocks = document.gpus, document.blocks
    steps_of = np.bincount(document.steps.parent, minlength=len(blocks))
    blocks_of = np.bincount(blocks.parent, minlength=len(gpus))
    kept = blocks_of + np.bincount(blocks.parent, weights=steps_of, minlength=len(gpus)).astype(np.int64)
    nodes = len(document.algorithms) + int((document.level == Level.GPU).sum())
    if nodes + kept.max(initial=0) > profile.max_nodes:
        gpu = int(np.argmax(kept)) if len(kept) else 0
        place = f"<gpu> rank {gpus.number('id')[gpu]}" if len(kept) else "<algo>"
        message = f"{nodes + int(kept.max(initial=0))} elements for one rank, limit {profile.max_nodes}"
        yield Finding("elements", Severity.REJECT, 0, place, message, "use fewer chunks or steps")
    children = (
        (document.algorithm, [len(document.all_gpus)], "gpus", "use fewer ranks"),
        (gpus, blocks_of, "thread blocks", "use fewer channels or a schedule with fewer peers"),
        (blocks, steps_of, "steps", "use more channels or fewer chunks"),
    )
    for table, counts, what, remedy in children:
        over = np.flatnonzero(np.asarray(counts) > profile.max_children)
        for position in over[:1]:
            message = f"{counts[position]} {what}, limit {profile.max_children}: the parsers write beyond their table"
            yield _at(document, table.rows[position], "children", Severity.REJECT, "", message, remedy)


def _attributes(document: Document) -> Iterator[Finding]:
    """Attributes that are read otherwise than they are written."""
    for tag, table in _tables(document):
        for row in table.rows[table.flawed(Flaw.DROPPED_ATTRIBUTES)][:1]:
            message = "has more than 16 attributes and extra spaces; the rest is dropped"
            yield _at(document, row, "attributes", Severity.SUSPECT, tag, message, "write fewer, one space between two")
    order = document.attributes_by_key
    again = 1 + np.flatnonzero(np.diff(document.attribute_element[order]) == 0)
    before, again = order[again - 1], order[again]
    for attribute in np.sort(again[document.attribute_key[before] == document.attribute_key[again]]).tolist():
        row, key = int(document.attribute_element[attribute]), int(document.attribute_key[attribute])
        if not document.values[key]:
            continue
        message = f"has the attribute {document.values[key]} twice; the first one counts"
        yield _at(document, row, "twice", Severity.SUSPECT, "", message, "keep one")
        break
    long = np.array([len(text) > _MAX_VALUE for text in document.values], bool)
    for attribute in np.flatnonzero(long[document.attribute_value])[:1].tolist():
        row, key = int(document.attribute_element[attribute]), int(document.attribute_key[attribute])
        length = len(document.values[int(document.attribute_value[attribute])])
        message = f"{document.values[key]}: {length} characters overflow the runtimes' buffer of {_MAX_VALUE}"
        yield _at(document, row, "long value", Severity.SUSPECT, "", message, "shorten it")


def _at(document: Document, row: int, rule: str, severity: Severity, tag: str, message: str, remedy: str) -> Finding:
    element = f"<{tag}>" if tag else f"<{('algo', 'gpu', 'tb', 'step')[document.level[row]]}>"
    return Finding(rule, severity, document.line(int(document.start[row])), element, message, remedy)
