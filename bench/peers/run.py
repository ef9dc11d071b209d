"""Runs cases one after the other, each in a fresh process, and keeps what is finished."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from hocket.bench.kept_results import read_results, write_results
from hocket.bench.peers.case import Case, Figures, Outcome
from hocket.bench.peers.driver import drive
from hocket.bench.peers.fresh_process import Limits, NoAnswer, answer_of_process

__all__ = ["Result", "Results"]


@dataclass(frozen=True)
class Result:
    """`beside`: what the peer's program did on this machine."""

    case: Case
    outcome: Outcome
    beside: Figures | None = None


@dataclass
class Results:
    """Finished cases by name, kept in the file `path` (None: nowhere) with the request that they are of."""

    path: Path | None
    finished: dict[str, Result]
    request: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path | None, request: Mapping[str, Any]) -> "Results":
        """What the file has, if there is one. Raises FormatError when it is not one of ours."""
        if path is None or not path.is_file():
            return cls(path, {}, request)
        results = read_results(path, list[Result], "hocket bench peers", or_list=True)  # of earlier releases
        return cls(path, {result.case.name: result for result in results}, request)

    def run(self, cases: Iterable[Case], limits: Limits, peer: Path | None = None) -> Iterator[Result]:
        """The results of all cases; those that are finished, for the same target, are not run again."""
        for case in cases:
            known = self.finished.get(case.name)
            done = known is not None and not known.outcome.error and (peer is None or known.beside is not None)
            if known is None or not done:
                known = Result(case, _outcome(case, limits), drive(peer, case, limits.seconds) if peer else None)
                self.finished[case.name] = known
                write_results(self.path, self.request, list(self.finished.values()))
            yield Result(case, known.outcome, known.beside)


def _outcome(case: Case, limits: Limits) -> Outcome:
    try:
        return msgspec.json.decode(answer_of_process("hocket.bench.peers.measure", case, limits), type=Outcome)
    except NoAnswer as error:
        return Outcome(case.name, error=str(error))
