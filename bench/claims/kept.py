"""What is kept of a run of the claims, so that one that was interrupted goes on where it stopped."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hocket.bench.claims.claim import Claim, ClaimVerdict, judge
from hocket.bench.kept_results import read_results, write_results

__all__ = ["KeptVerdicts", "read_verdicts"]


def read_verdicts(path: Path) -> list[ClaimVerdict]:
    """The results of a file of `hocket bench claims --json`. Raises FormatError when it is not one."""
    return read_results(path, list[ClaimVerdict], "hocket bench claims")


@dataclass
class KeptVerdicts:
    """Verdicts by claim, kept in the file `path` (None: nowhere) with the request that they are of."""

    path: Path | None
    request: Mapping[str, Any]
    finished: dict[str, ClaimVerdict] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path | None, request: Mapping[str, Any]) -> "KeptVerdicts":
        """What the file has, if there is one. Raises FormatError when it is not one of ours."""
        known = read_verdicts(path) if path is not None and path.is_file() else []
        return cls(path, request, {verdict.id: verdict for verdict in known})

    def judged(self, claims: Sequence[Claim], *, quick: bool) -> Iterator[ClaimVerdict]:
        """The verdicts of these claims, saved one by one; those that are kept are not measured again."""
        for claim in claims:
            known = self.finished.get(claim.id)
            if known is None or not known.is_of(claim, quick=quick):
                known = self.finished[claim.id] = judge(claim, quick=quick)
                self._save()
            yield known

    def _save(self) -> None:
        ordered = sorted(self.finished.values(), key=lambda verdict: (verdict.id[0], int(verdict.id[1:])))
        write_results(self.path, self.request, ordered)
