"""MSCCL XML to Program: strict, naming the line, the element, the rule and the remedy."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hocket.base.collectives import Held
from hocket.base.errors import FormatError
from hocket.schedule import STEP_ROW, Gpu, Kind, Program, Steps, StepType, ThreadBlock
from hocket.translator.msccl.columns import DocumentColumns
from hocket.translator.msccl.document import Document, read_document, read_file
from hocket.translator.msccl.findings import Finding, Severity
from hocket.translator.msccl.profile import Profile
from hocket.translator.msccl.profiles import PROFILES, find_profile
from hocket.translator.msccl.rules import check, window

__all__ = ["build", "from_xml", "read_xml"]

_KINDS = {name: kind for profile in PROFILES.values() for kind, name in profile.collective_names.items()}


def read_xml(path: Path | str, *, profile: str | None = None, root: int | None = None) -> Program:
    """The program in an MSCCL XML file, as `from_xml`. Raises FormatError naming file, line, rule and remedy."""
    return _strict(read_file(path), profile, root)


def from_xml(text: str | bytes, source: str, *, profile: str | None = None, root: int | None = None) -> Program:
    """The program in MSCCL XML text of any of the three dialects, or only of `profile`; `source` names it in errors.

    Stricter than the runtimes' parsers: what they read otherwise than it is written, or their kernels cannot execute,
    is refused too; their limits are not asked for (`check_limits`). The file does not say the root of a broadcast or
    reduce: it is taken from who receives (broadcast: the one rank that never does) or sends (reduce: the one that
    never does), unless given. `maxBytes` means what it means to the runtime that the file was written for: without
    `profile` the one that it names (attribute `runtime`, which no runtime reads), else executor where the file has
    all attributes that this requires, else msccl. Raises FormatError, also where that leaves the root open.
    """
    return _strict(read_document(text, source), profile, root)


def _strict(document: Document, profile: str | None, root: int | None) -> Program:
    chosen = list(PROFILES.values()) if profile is None else [find_profile(profile)]
    finding = _refusal(document, chosen[0], strict_dialect=profile is not None)
    if finding is not None and any(_refusal(document, each, strict_dialect=False) is None for each in chosen[1:]):
        finding = None
    if finding is not None:
        line = f":{finding.line}" if finding.line else ""
        element = f"{finding.element}: " if finding.element else ""
        remedy = f"; {finding.remedy}" if finding.remedy else ""
        raise FormatError(f"{document.source}{line}: {element}{finding.message}{remedy}")
    if root is not None and not 0 <= root < document.num_ranks:
        last = document.num_ranks - 1
        raise FormatError(
            f'{document.source}: ngpus="{document.num_ranks}": root {root} is not one of the ranks 0..{last}'
        )
    return build(DocumentColumns(document), _written_for(document) if profile is None else chosen[0], root)


def _refusal(document: Document, profile: Profile, *, strict_dialect: bool) -> Finding | None:
    """The first finding for which the program cannot be read, or is not what is written."""
    dialect = ("attribute", "name")
    for finding, blocks in check(document, profile):
        foreign = strict_dialect and finding.severity == Severity.REJECT and finding.rule in dialect
        if blocks or foreign or finding.severity == Severity.SUSPECT:
            return finding
    return None


def _written_for(document: Document) -> Profile:
    algorithm, executor = document.algorithm, PROFILES["executor"]
    named = algorithm.text("runtime", 0)
    if named in PROFILES:
        return find_profile(named)
    whole = all(algorithm.has(key)[0] for key in executor.attributes)
    return executor if whole else PROFILES["msccl"]


def build(columns: DocumentColumns, profile: Profile, root: int | None = None) -> Program:
    """The program that the kernels run, of a document that breaks no rule that blocks it (`rules.check`), for the sizes
    for which a runtime selects it.

    Nops without a dependency, or without a step after them, are left out: the kernels do not see them either. Raises
    FormatError where a root is not given, and not to be told from the steps.
    """
    algorithm = columns.document.algorithm
    kind = _KINDS[algorithm.text("coll", 0)]
    in_place = bool(algorithm.number("inplace")[0])
    out_of_place = bool(algorithm.number("outofplace")[0]) if algorithm.has("outofplace")[0] else not in_place
    gpus = _gpus(columns)
    smallest, largest = window(columns, profile)
    return Program(
        name=algorithm.text("name", 0),
        kind=kind,
        chunks_per_loop=columns.num_chunks,
        num_channels=columns.num_channels,
        protocol=algorithm.text("proto", 0),
        in_place=in_place,
        out_of_place=out_of_place,
        min_bytes=max(smallest, 0),
        max_bytes=0 if largest is None else max(largest, -1) or -1,  # up to 0 bytes: no call
        gpus=gpus,
        root=_root(kind, gpus, columns.document.source) if root is None else root,
    )


def _gpus(columns: DocumentColumns) -> tuple[Gpu, ...]:
    rows = _rows(columns)
    kept = _kept(columns)
    rows, first = rows[kept], np.concatenate([[0], np.cumsum(kept)])[columns.first_step].tolist()
    parent = columns.document.blocks.parent
    send, receive = (columns.document.blocks.number(key).tolist() for key in ("send", "recv"))
    channel = columns.channel.tolist()
    by_id = np.lexsort((columns.block_id, parent))
    first_block = np.searchsorted(parent[by_id], np.arange(len(columns.gpu_rank) + 1))
    gpus = []
    for gpu in np.argsort(columns.gpu_rank).tolist():
        blocks = tuple(
            ThreadBlock(send[block], receive[block], channel[block], Steps(rows[first[block] : first[block + 1]]))
            for block in by_id[first_block[gpu] : first_block[gpu + 1]].tolist()
        )
        inputs, outputs, scratch = columns.chunks[gpu].tolist()
        gpus.append(Gpu(inputs, outputs, scratch, blocks))
    return tuple(gpus)


def _kept(columns: DocumentColumns) -> NDArray[np.bool_]:
    """Real steps and the nops that the kernels see: those that wait, before a real step of their block."""
    last = np.full(len(columns.num_steps), -1)
    np.maximum.at(last, columns.block[columns.real], columns.position[columns.real])
    return columns.real | ((columns.depend_block >= 0) & (columns.position < last[columns.block]))


def _rows(columns: DocumentColumns) -> NDArray[np.void]:
    rows = np.zeros(len(columns.type), STEP_ROW)
    rows["type"] = columns.type
    for end in ("src", "dst"):
        rows[f"{end}_buffer"] = np.maximum(columns.buffer(end), 0)  # no kernel looks at buffers of other names
        rows[f"{end}_offset"] = columns.offset(end)
    rows["count"] = columns.count
    waits = columns.depend_block >= 0
    rows["depend_block"] = np.where(waits, columns.depend_block, -1)
    rows["depend_step"] = np.where(waits, np.maximum(columns.depend_step, 0), -1)
    rows["has_dependents"] = columns.has_dependents != 0
    return rows


def _root(kind: Kind, gpus: tuple[Gpu, ...], source: str) -> int:
    """The root that the steps give away; 0 where there is none. Raises FormatError where they do not."""
    if not kind.rooted:
        return 0
    sourced = kind.before is Held.ROOT

    talks = np.array([kind.receives if sourced else kind.sends for kind in StepType])

    def silent(gpu: Gpu) -> bool:
        return not any(talks[block.rows["type"]].any() for block in gpu.thread_blocks)

    candidates = [rank for rank, gpu in enumerate(gpus) if silent(gpu)]
    if len(candidates) != 1:
        never = f"never {'receive' if sourced else 'send'}"
        which = f"ranks {', '.join(map(str, candidates))} {never}" if candidates else f"there is no rank that {never}s"
        raise FormatError(f"{source}: the root of this {kind} cannot be told from its steps: {which}; give --root")
    return candidates[0]
