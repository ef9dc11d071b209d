"""Which of several files a runtime runs for a call, and why not each other one."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hocket.base.element_types import ELEMENT_TYPES
from hocket.base.enums import assert_never
from hocket.base.errors import FormatError
from hocket.base.units import format_bytes
from hocket.schedule import Kind
from hocket.translator.bundle.manifest import PROGRAMS, is_bundle
from hocket.translator.msccl.columns import DocumentColumns
from hocket.translator.msccl.document import Document, read_file
from hocket.translator.msccl.findings import Severity
from hocket.translator.msccl.judge import Judgement, Verdict, judge
from hocket.translator.msccl.profile import Profile, Scan
from hocket.translator.msccl.profiles import find_profile
from hocket.translator.msccl.rules import window

__all__ = ["Choice", "RuntimeCall", "Selection", "files_in_order", "misfit", "mismatch", "select"]


@dataclass(frozen=True, slots=True)
class RuntimeCall:
    """A call of a collective: `size_bytes` of a rank's whole buffer, as nccl-tests counts it."""

    kind: Kind
    size_bytes: int
    data_type: str
    num_ranks: int
    in_place: bool


@dataclass(frozen=True, slots=True)
class Choice:
    """A file, whether the call runs it, and why; `warnings`: what goes wrong when it does."""

    path: Path
    runs: bool
    reason: str
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Selection:
    """What a runtime does with a call: its files in the order in which it looks at them, and what else to know."""

    choices: tuple[Choice, ...]
    notes: tuple[str, ...]

    @property
    def chosen(self) -> Choice | None:
        """None: the library's own algorithm runs."""
        return next((choice for choice in self.choices if choice.runs), None)


def files_in_order(folder: Path, runtime: str | Profile) -> list[Path]:
    """The files of a folder in the order in which a runtime looks at them: executor by name, rccl as the file system
    lists them; msccl is given files one by one, here the .xml by name. Of a bundle, those of its programs. Raises
    FormatError when it cannot be listed."""
    folder = folder / PROGRAMS if is_bundle(folder) else folder
    try:
        listed = [folder / name for name in os.listdir(folder)]
    except OSError as error:
        raise FormatError(f"{folder}: {error.strerror}; give a folder of XML files") from error
    files = [path for path in listed if path.is_file()]
    match find_profile(runtime).scan:
        case Scan.ONE_BY_ONE:
            return sorted(path for path in files if path.suffix == ".xml")
        case Scan.BY_NAME:
            return sorted(files)
        case Scan.LISTED:
            return files
        case scan:
            assert_never(scan)


def select(files: Sequence[Path], call: RuntimeCall, runtime: str | Profile) -> Selection:
    """What the runtime does with the call when it is given these files in this order. Raises FormatError when a file
    cannot be read at all."""
    profile = find_profile(runtime)
    documents = [read_file(path) for path in files]
    broken = _ending(files, documents, call, profile)
    choices: list[Choice] = []
    loaded = 0
    for path, document in zip(files, documents, strict=True):
        judgement = judge(document, profile)
        chosen = next((choice for choice in choices if choice.runs), None)
        reason = broken
        if reason is None:
            reason = _not_loaded(judgement, document, call, profile, loaded) or _mismatch(document, call, profile)
            loaded += judgement.verdict == Verdict.ACCEPT and document.num_ranks == call.num_ranks
        if reason is None and chosen is not None:
            reason = f"matches too, but {chosen.path.name} comes first"
        if reason is None:
            choices.append(Choice(path, True, "is the first that matches", _warnings(judgement, call)))
        else:
            choices.append(Choice(path, False, reason))
    return Selection(tuple(choices), _notes(call, profile, choices))


def _ending(files: Sequence[Path], documents: Sequence[Document], call: RuntimeCall, profile: Profile) -> str | None:
    """Why no file is used at all: executor and RCCL read every file in the folder, and one bad one ends the scan."""
    if profile.scan is Scan.ONE_BY_ONE:
        return None
    for path, document in zip(files, documents, strict=True):
        for finding in judge(document, profile).findings:
            # of a file for another number of ranks only the <algo> is read
            seen = document.num_ranks == call.num_ranks or finding.element in ("", "<algo>")
            if finding.severity == Severity.REJECT and seen:
                return (
                    f"no file is used: {path.name} is refused, which ends the scan of the folder: {finding.describe()}"
                )
    return None


def _not_loaded(
    judgement: Judgement, document: Document, call: RuntimeCall, profile: Profile, loaded: int
) -> str | None:
    if judgement.verdict == Verdict.REJECT:
        return f"is refused and ignored: {judgement.reasons[0]}"
    if document.num_ranks != call.num_ranks:
        return f'is for ngpus="{document.num_ranks}", the communicator has {call.num_ranks} ranks'
    if loaded >= profile.max_files:
        return f"{profile.max_files} files are loaded already, the rest is ignored"
    return None


def _mismatch(document: Document, call: RuntimeCall, profile: Profile) -> str | None:
    """The first condition of the runtime's selection that the call does not meet."""
    algorithm, columns = document.algorithm, DocumentColumns(document)
    collective = algorithm.text("coll", 0)
    if collective != profile.collective_names.get(call.kind):
        return f'is for coll="{collective}", not {profile.collective_names.get(call.kind, call.kind)}'
    in_place = bool(algorithm.number("inplace")[0])
    if "outofplace" not in profile.attributes:
        # it does not ask the file for an all_to_all
        in_place = in_place and call.kind is not Kind.ALL_TO_ALL
        out_of_place = not in_place
    else:
        out_of_place = bool(algorithm.number("outofplace")[0])
    return mismatch(call, in_place, out_of_place, window(columns, profile), columns.num_chunks)


def misfit(call: RuntimeCall, in_place: bool, out_of_place: bool, sizes: tuple[int, int | None]) -> str | None:
    """Why a program for in-place or out-of-place calls of `sizes` bytes (both inclusive; None: no end) is not for a
    call of the right collective; None where it is."""
    if not (in_place if call.in_place else out_of_place):
        return f"is not for {'in-place' if call.in_place else 'out-of-place'} calls"
    smallest, largest = sizes
    if call.size_bytes < smallest or (largest is not None and call.size_bytes > largest):
        upper = "any size" if largest is None else f"{format_bytes(largest)} ({largest} B)"
        return f"is for {format_bytes(smallest)} ({smallest} B) to {upper}; the call has {call.size_bytes} B"
    return None


def mismatch(
    call: RuntimeCall, in_place: bool, out_of_place: bool, sizes: tuple[int, int | None], num_chunks: int
) -> str | None:
    """As `misfit`, of a program whose buffer is cut into `num_chunks`."""
    if reason := misfit(call, in_place, out_of_place, sizes):
        return reason
    elements = call.size_bytes // ELEMENT_TYPES[call.data_type].num_bytes
    if num_chunks < 1 or elements % num_chunks:
        return (
            f"cuts the buffer into {num_chunks} chunks, which do not divide {elements} elements of "
            f"{call.data_type} ({call.size_bytes} B)"
        )
    return None


def _warnings(judgement: Judgement, call: RuntimeCall) -> tuple[str, ...]:
    """What goes wrong when the runtime runs the file for the call."""
    safe = judgement.largest_safe_bytes
    found = []
    if not judgement.runnable or not judgement.correct:
        found += list(judgement.reasons)
    elif safe is not None and call.size_bytes > safe:
        found.append(f"deadlocks above {format_bytes(safe)} ({safe} B)")
    if call.kind.rooted and judgement.program is not None:
        found.append(f"the root is no part of the match: the file is right for root {judgement.program.root} only")
    return tuple(found)


def _notes(call: RuntimeCall, profile: Profile, choices: Sequence[Choice]) -> tuple[str, ...]:
    notes = ["only for sum, prod, max and min; other operators run the library's own algorithm", *profile.notes]
    if (note := profile.call_notes.get(call.kind)) is not None:
        notes.append(note)
    if profile.scan is Scan.LISTED and sum(one.runs or "matches too" in one.reason for one in choices) > 1:
        notes.append("several files match: which one runs depends on that order; keep their windows apart")
    return tuple(notes)
