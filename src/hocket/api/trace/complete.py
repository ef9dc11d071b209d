"""Makes a whole job of the traces of some of its ranks."""

from __future__ import annotations

from pathlib import Path

from hocket.api.progress import Progress
from hocket.api.trace.request import TraceComplete
from hocket.api.trace.written import TraceWriter, WrittenTraces
from hocket.base.errors import RequestError
from hocket.workload.completion import Completion, KnownRanks, RankGrid, grid_of_groups, grid_of_plan, read_known

__all__ = ["perform"]


def perform(request: TraceComplete, progress: Progress) -> WrittenTraces:
    known = read_known(Path(request.traces))
    completion = Completion(known, _grid(request, known))
    writer = TraceWriter(request.written, known.paths.values())
    for rank in range(completion.num_ranks):
        writer.write(rank, [completion.trace(rank)])
        progress.count(rank + 1, completion.num_ranks, "traces written")
    changes = {f"ranks filled in beside {len(known.traces)} known": len(completion.missing)}
    return writer.finish(request, completion.groups, changes, [f"assumed: {note}" for note in completion.notes])


def _grid(request: TraceComplete, known: KnownRanks) -> RankGrid:
    if request.world and known.world and request.world != known.world:
        raise RequestError(
            f"{request.traces}: these traces tell of {known.world} ranks, --world of {request.world}: drop --world"
        )
    world = request.world or known.world
    if request.parallel is not None:
        return grid_of_plan(request.parallel, request.order, world)
    if world is None:
        raise RequestError(
            f"{request.traces}: nothing tells how many ranks the job has: say so with --world (of what was imported "
            "at the import, which loses collectives of all ranks without it), or how they are laid out with --parallel"
        )
    return grid_of_groups(world, known.groups, known.descriptions)
