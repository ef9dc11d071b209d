"""What fails a check of a collection (`--strict`), by class, read from its summary.json."""

import json
from collections import Counter
from pathlib import Path

from hocket.base.errors import FormatError

__all__ = ["FAILING", "count_failures"]

# Classes of findings after which traces are not what all ranks of the job did. Those of profiles (`operators`,
# `profile`, `nccl`) take nothing from them; `unseen`, `unwaited` and `dropped` are said of jobs that ran well.
FAILING = (
    *("missing", "unended", "not recorded", "lost", "incomplete", "different", "divergence", "unmatched", "clock"),
    "cut",
)
_STRAGGLER = "straggler"


def count_failures(folder: Path, with_stragglers: bool = False) -> Counter[str]:
    """How many findings of each failing class the summary in `folder` has; stragglers where they are to count.

    Raises FormatError where there is no summary, or it is none of ours.
    """
    path = folder / "summary.json"
    try:
        summary = json.loads(path.read_text())
        counts = Counter[str](mismatch["problem"] for mismatch in summary["mismatches"])
        lists = {"missing": summary["absent"], "unended": summary["unended"], "divergence": summary["divergences"]}
        lists |= {"cut": summary["cuts"], _STRAGGLER: summary["stragglers"]["found"]}
    except OSError as error:
        raise FormatError(f"{path}: {error.strerror}: was the job merged?") from error
    except (ValueError, KeyError, TypeError) as error:
        raise FormatError(f"{path}: no summary of a collection: {error!r}") from error
    counts.update({name: len(found) for name, found in lists.items()})
    wanted = (*FAILING, _STRAGGLER) if with_stragglers else FAILING
    return Counter({name: counts[name] for name in wanted if counts[name]})
