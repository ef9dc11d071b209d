"""Runs of the engine `rounds` whose schedules are too large to spell out: folded by mirrors, and kept in a file."""

import shutil
from pathlib import Path
from tempfile import gettempdir

import numpy as np
from numpy.typing import NDArray

from hocket._core import synthesizer as core
from hocket.base.errors import ScheduleError
from hocket.base.units import format_bytes
from hocket.schedule import FoldedSchedule, Phase, Rounds, RoundShape, RoundSpool, Symmetry
from hocket.synthesizer.candidate_symmetries import mirror_symmetry
from hocket.synthesizer.engines.round_run import RoundRun, RoundVariant
from hocket.synthesizer.engines.spreading import deliveries
from hocket.synthesizer.problem import Problem
from hocket.synthesizer.search import Search

__all__ = ["FoldedRun"]


class FoldedRun:
    """Attempt `number` of a search, folded by all flips of the topology."""

    def __init__(self, problem: Problem, search: Search, variant: RoundVariant, number: int) -> None:
        self._problem = problem
        symmetry = Symmetry() if problem.collective.rooted else mirror_symmetry(problem.topology)
        self._run = RoundRun(problem, search, variant, number, symmetry)

    def schedule(self, below_ps: int, name: str) -> FoldedSchedule | None:
        """Of copies that are written to a file as they are found (`Search.partial`, or a temporary one), and go on
        from those that are there; None when it would not take less than `below_ps`."""
        problem, symmetry = self._problem, self._run.symmetry
        links = self._representative_links()
        route_of = np.full(problem.network.num_links, -1, np.int32)
        route_of[links] = np.arange(len(links), dtype=np.int32)
        shape = RoundShape(len(links), problem.collective.num_chunks, self._run.times.length_ps)
        keep, text = self._run.search_for.partial, str(self._run)
        path = None if keep is None else keep.path(text)
        total = deliveries(problem) // symmetry.order
        self._require_disk(shape, total, path)
        with RoundSpool(shape, text, path, core.ROUND_RENEWAL, total) as spool:
            search = self._run.start(core.WrittenRounds(spool.writer, route_of), below_ps)
            self._replay(search, spool.done, links, complete=len(spool.done) == total)
            if search.run() is None:
                return None
            rounds = spool.finish()
        return FoldedSchedule(
            collective=problem.collective,
            topology=problem.topology,
            symmetry=symmetry,
            phases=(Phase(np.arange(len(links) + 1), links, rounds),),
            blocking=problem.blocking,
            bound=None,
            generator=name,
            seed=self._run.search_for.seed,
        )

    def _require_disk(self, shape: RoundShape, total: int, path: Path | None) -> None:
        """Raises ScheduleError where the rounds, and with an output the file made of them, have no place."""
        folder = Path(gettempdir()) if path is None else path.parent
        free = shutil.disk_usage(folder).free + (path.stat().st_size if path is not None and path.exists() else 0)
        needed = shape.size_bytes(total) * (1 if path is None else 2)
        if needed > free:
            raise ScheduleError(
                f"{self._problem.collective.describe()} on {self._problem.topology.name}: the rounds take "
                f"{format_bytes(needed)} on the disk of {folder}, which has {format_bytes(free)}; choose another place "
                "(-o, $TMPDIR), or take fewer chunks per rank, or fewer ranks"
            )

    def _replay(self, search: core.RoundSearch, done: Rounds, links: NDArray[np.int32], complete: bool) -> None:
        """Brings the search to where it was cut off."""
        if len(done) == 0:
            return
        stretches = -(-done.num_rounds // core.ROUND_RENEWAL)
        begin = done.num_rounds if complete else stretches * core.ROUND_RENEWAL
        self._run.search_for.progress.resumed_at = begin
        for block in done.blocks():
            self._run.search_for.stop.check()
            search.replay(block.start_ps // done.shape.length_ps, links[block.route], block.chunk)
        search.resume(begin)

    def _representative_links(self) -> NDArray[np.int32]:
        """Links into representatives, ascending: in a uniform network every route is one link."""
        links = self._problem.routes.links
        into = self._problem.topology.dst[links]
        return links[np.flatnonzero(self._run.symmetry.home(into) == 0)] if self._run.symmetry.order > 1 else links
