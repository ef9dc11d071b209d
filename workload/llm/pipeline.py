"""Pipeline schedules: what each stage does, in which order.

1F1B: PipeDream-Flush (arXiv:2006.09503). Interleaved: Narayanan et al., Efficient Large-Scale Language Model Training
on GPU Clusters Using Megatron-LM (arXiv:2104.04473, section 2.2.2). ZB-H1: Qi et al., Zero Bubble Pipeline
Parallelism (arXiv:2401.10241, section 2). Those of two chunks per stage: `two_chunks`.
"""

from collections.abc import Iterator

from hocket.base.enums import StrEnum, assert_never
from hocket.workload.llm.passes import PassKind, PipelineTask
from hocket.workload.llm.two_chunks import dual_pipe, dual_pipe_v, zero_bubble_v

__all__ = ["PassKind", "PipelineSchedule", "PipelineTask", "stage_tasks"]


class PipelineSchedule(StrEnum):
    """The order of the passes of a stage."""

    ONE_F_ONE_B = "1f1b"
    INTERLEAVED = "interleaved"
    ZB_H1 = "zb-h1"
    ZB_V = "zb-v"
    DUALPIPE = "dualpipe"
    DUALPIPE_V = "dualpipe-v"

    @property
    def is_v(self) -> bool:
        """Whether a stage's second chunk lies as far from the model's end as its first from the beginning."""
        return self in (PipelineSchedule.ZB_V, PipelineSchedule.DUALPIPE_V)

    @property
    def two_chunks(self) -> bool:
        """Whether a stage always has two chunks of layers."""
        return self.is_v or self is PipelineSchedule.DUALPIPE


def stage_tasks(
    schedule: PipelineSchedule, stage: int, stages: int, chunks: int, micro_batches: int
) -> tuple[PipelineTask, ...]:
    """What stage `stage` of `stages` does to all micro-batches. `chunks` above 1 need the interleaved schedule and a
    multiple of `stages` micro-batches. DualPipe's first direction takes the first half of the micro-batches."""
    match schedule:
        case PipelineSchedule.INTERLEAVED:
            return tuple(_interleaved(stage, stages, chunks, micro_batches))
        case PipelineSchedule.ZB_H1:
            return tuple(_zero_bubble(stage, stages, micro_batches))
        case PipelineSchedule.ONE_F_ONE_B:
            return tuple(_one_forward_one_backward(stage, stages, micro_batches))
        case PipelineSchedule.ZB_V:
            return tuple(zero_bubble_v(stage, stages, micro_batches))
        case PipelineSchedule.DUALPIPE:
            return tuple(dual_pipe(stage, stages, micro_batches))
        case PipelineSchedule.DUALPIPE_V:
            return tuple(dual_pipe_v(stage, stages, micro_batches))
        case _:
            assert_never(schedule)


def _one_forward_one_backward(stage: int, stages: int, micro_batches: int) -> Iterator[PipelineTask]:
    ahead = min(stages - 1 - stage, micro_batches)
    for forward in range(micro_batches + ahead):
        if forward < micro_batches:
            yield PipelineTask(PassKind.FORWARD, 0, forward)
        if forward >= ahead:
            yield PipelineTask(PassKind.BACKWARD, 0, forward - ahead)


def _zero_bubble(stage: int, stages: int, micro_batches: int) -> Iterator[PipelineTask]:
    """1F1B whose weight gradients wait, on stage s those of s micro-batches: all stages keep the same many."""
    for task in _one_forward_one_backward(stage, stages, micro_batches):
        if task.kind is PassKind.FORWARD:
            yield task
            continue
        yield PipelineTask(PassKind.INPUT_GRADIENT, 0, task.micro_batch)
        if task.micro_batch >= stage:
            yield PipelineTask(PassKind.WEIGHT_GRADIENT, 0, task.micro_batch - stage)
    for micro_batch in range(max(micro_batches - stage, 0), micro_batches):
        yield PipelineTask(PassKind.WEIGHT_GRADIENT, 0, micro_batch)


def _interleaved(stage: int, stages: int, chunks: int, micro_batches: int) -> Iterator[PipelineTask]:
    """Groups of `stages` micro-batches go through chunk after chunk; backward through the last chunk first."""
    total = micro_batches * chunks
    ahead = min(2 * (stages - 1 - stage) + (chunks - 1) * stages, total)
    for forward in range(total + ahead):
        if forward < total:
            group, place = divmod(forward, stages * chunks)
            yield PipelineTask(PassKind.FORWARD, place // stages, group * stages + place % stages)
        if forward >= ahead:
            group, place = divmod(forward - ahead, stages * chunks)
            yield PipelineTask(PassKind.BACKWARD, chunks - 1 - place // stages, group * stages + place % stages)
