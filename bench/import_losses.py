"""What imports lose: the collectives and messages that recordings have, that traces have, and that are lost, and why.

Run: python -m hocket.bench.import_losses RECORDINGS [FILES...] [--reasons]

RECORDINGS has folders `profiler/NAME` with `host.RANK.json.gz` (ExecutionTraceObserver) and `device.RANK.json.gz`
(Kineto), and beside them `interposed/NAME/coll.RANK.jsonl`, what an interposer on PyTorch's dispatcher saw of a step
like theirs. Each is imported from the hosts' files alone, from the devices' alone, and from both. FILES are recordings
of their own: a file, or the files of a job, separated by commas. `recorded` is what the interposer saw, of FILES what
the import placed or counted as lost. Exit 1 where both files of a recording lose any.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from hocket.base.errors import HocketError
from hocket.base.text_table import text_table
from hocket.bench.command_line import command_line
from hocket.chakra import NodeType
from hocket.chakra.importers import import_traces
from hocket.chakra.losses import Loss, communication_lost, losses_of

__all__ = ["ImportedRecording", "recordings"]

_SOURCES = {"hosts": "host.*", "devices": "device.*", "both": "*"}


class ImportedRecording(NamedTuple):
    """Collectives and messages of all ranks in its traces, and what they say was lost."""

    placed: int
    losses: Counter[Loss]


def _import_recording(paths: Sequence[Path]) -> ImportedRecording:
    """Imports a job's files. Raises what `import_traces` does."""
    job = import_traces(paths)
    losses: Counter[Loss] = Counter()
    for trace in job.traces.values():
        losses.update(losses_of(trace.metadata))
    return ImportedRecording(sum(int((t.type >= NodeType.COMM_SEND).sum()) for t in job.traces.values()), losses)


def _interposed_calls(folder: Path) -> int:
    """What all ranks issued in the second step, as the interposer saw it."""
    lines = [json.loads(line) for path in folder.glob("coll.*.jsonl") for line in path.read_text().splitlines()]
    return sum(line["k"] == "coll" and line["step"] == 2 for line in lines)


def recordings(folder: Path) -> Iterator[tuple[str, str, list[Path], int]]:
    """Name, source, files, and what the interposer saw of each recording."""
    for recording in sorted((folder / "profiler").iterdir()):
        seen = _interposed_calls(folder / "interposed" / recording.name)
        for source, pattern in _SOURCES.items():
            yield recording.name, source, sorted(recording.glob(pattern)), seen


def main() -> int:
    parser = command_line()
    parser.add_argument("recordings", type=Path)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--reasons", action="store_true", help="say of each what was lost and why")
    chosen = parser.parse_args()
    rows: list[tuple[object, ...]] = []
    reasons, failed = [], False
    jobs = [*recordings(chosen.recordings)]
    jobs += [(Path(files).name, "given", [*map(Path, files.split(","))], -1) for files in chosen.files]
    for name, source, files, seen in jobs:
        try:
            placed, losses = _import_recording(files)
        except HocketError as error:
            rows.append((name, source, "", "", "refused"))
            reasons.append(f"{name}, {source}: {error}")
            failed |= source == "both"
            continue
        lost = communication_lost(losses)
        rows.append((name, source, placed + lost if seen < 0 else seen, placed, lost))
        told = sorted(losses.items())
        reasons += [f"{name}, {source}: {count} {loss.what} {loss.kind}: {loss.reason}" for loss, count in told]
        failed |= source == "both" and (lost > 0 or placed != seen)
    print(*text_table(("recording", "files", "recorded", "in traces", "lost"), rows, align="<<"), sep="\n")
    if chosen.reasons:
        print(*reasons, sep="\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
