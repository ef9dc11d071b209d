"""Which layers lie in which part of a model that a pipeline cuts, and which stage holds which part.

Parts are numbered in the order in which a micro-batch meets them.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate

from hocket.base.errors import Infeasible
from hocket.workload.llm.pipeline import PipelineSchedule

__all__ = ["deal", "layer_ranges", "part_of", "require", "split_layers"]


def require(holds: bool, message: str) -> None:
    """Raises Infeasible, with what is wrong with the plan, unless it holds."""
    if not holds:
        raise Infeasible(f"plan: {message}")


def part_of(schedule: PipelineSchedule, stage: int, chunk: int, stages: int) -> int:
    """The part that is a stage's chunk: stage after stage, chunk by chunk; in a V the second chunks go backwards, so
    that the last part lies on the first stage; DualPipe's second chunk is the part of the opposite stage."""
    if chunk and schedule.is_v:
        return 2 * stages - 1 - stage
    if chunk and schedule is PipelineSchedule.DUALPIPE:
        return stages - 1 - stage
    return chunk * stages + stage


def deal(places: int, parts: int) -> list[int]:
    """So many places for each part. What does not divide: the last part and then the first have one fewer, for the
    output and the embedding are theirs, then those before the last."""
    share, more = divmod(places, parts)
    fewer = [parts - 1, 0, *range(parts - 2, 0, -1)][:parts]
    sizes = [share + 1] * parts
    for part in fewer[: parts - more]:
        sizes[part] -= 1
    return sizes


@lru_cache(maxsize=64)
def layer_ranges(sizes: tuple[int, ...]) -> tuple[range, ...]:
    """The layers of parts of these sizes."""
    ends = accumulate(sizes)
    return tuple(range(end - size, end) for size, end in zip(sizes, ends, strict=True))


@lru_cache(maxsize=64)
def split_layers(
    layers: int,
    schedule: PipelineSchedule,
    stages: int,
    chunks: int,
    per_stage: tuple[int, ...] = (),
    first: int | None = None,
    last: int | None = None,
    embeddings_count: bool = False,
) -> tuple[int, ...]:
    """How many layers each part has. `per_stage`: as many for each stage, or for each part; `first` and `last`: for the
    first and the last stage, the others share the rest (Megatron-LM's `num_layers_in_first_pipeline_stage` and
    `num_layers_in_last_pipeline_stage`); `embeddings_count`: the embedding and the output take a layer's place.

    Raises Infeasible, saying what does not fit, for what cannot be.
    """
    told = [bool(per_stage), first is not None or last is not None, embeddings_count]
    require(
        sum(told) < 2, "choose one of layers per stage, layers of the first and last stage, and embeddings that count"
    )
    parts = stages * chunks
    if per_stage:
        require(
            len(per_stage) in (stages, parts), f"layers are told of {len(per_stage)} stages, and there are {stages}"
        )
        require(min(per_stage) >= 0, f"a stage cannot have {min(per_stage)} layers")
        require(sum(per_stage) == layers, f"the stages' layers are {sum(per_stage)}, and the model has {layers}")
        return per_stage if len(per_stage) == parts else _into_chunks(per_stage, schedule, stages, chunks)
    if first is not None or last is not None:
        return _into_chunks(_ends(layers, stages, first, last), schedule, stages, chunks)
    places = layers + 2 * embeddings_count
    what = f"{layers} layers" + (" and 2 for the embedding and the output" if embeddings_count else "")
    require(places >= parts, f"{what} are too few for pp {stages} * {chunks} chunks")
    sizes = deal(places, parts)
    if embeddings_count:
        sizes[0], sizes[-1] = sizes[0] - 1, sizes[-1] - 1
        require(parts == 1 or min(sizes) > 0, f"{what}: a stage would have no layer left")
    return tuple(sizes)


def _ends(layers: int, stages: int, first: int | None, last: int | None) -> tuple[int, ...]:
    others = stages - (first is not None) - (last is not None)
    rest = layers - (first or 0) - (last or 0)
    require(others > 0, f"pp {stages} leaves no stage for the layers that are not in the first and last")
    require(
        rest >= others and min(first or 0, last or 0) >= 0,
        f"{rest} of {layers} layers are left for {others} stages between the first and the last",
    )
    middle = deal(rest, others)
    return (*([] if first is None else [first]), *middle, *([] if last is None else [last]))


def _into_chunks(of_stage: Sequence[int], schedule: PipelineSchedule, stages: int, chunks: int) -> tuple[int, ...]:
    """The parts' layers where those of whole stages are told: the first chunks get more where they do not divide."""
    sizes = [0] * (stages * chunks)
    for stage, layers in enumerate(of_stage):
        for chunk in range(chunks):
            sizes[part_of(schedule, stage, chunk, stages)] = (layers + chunks - 1 - chunk) // chunks
    return tuple(sizes)
