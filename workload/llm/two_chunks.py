"""Pipeline schedules of two chunks a stage that fill bubbles with the gradients of weights: ZB-V, DualPipe, DualPipeV.

ZB-V: Qi et al. (arXiv:2401.10241, section 6), in the order of PyTorch's ScheduleZBVZeroBubble. DualPipe: DeepSeek-V3
(arXiv:2412.19437, section 3.2.1); DualPipeV folds it in half; both step by step as github.com/deepseek-ai/DualPipe.
"""

from collections import deque

from hocket.workload.llm.passes import PassKind, PipelineTask

__all__ = ["dual_pipe", "dual_pipe_v", "zero_bubble_v"]


class _Order:
    """Tasks as they are added, the micro-batches of each chunk from `first` on in their order."""

    def __init__(self, first: tuple[int, int] = (0, 0)) -> None:
        self.tasks: list[PipelineTask] = []
        self._next = {kind: list(first) for kind in PassKind}
        self._waiting: deque[tuple[int, int]] = deque()

    def forward(self, chunk: int) -> None:
        self._add(PassKind.FORWARD, chunk)

    def backward(self, chunk: int, weights_wait: bool = False, beside: bool = False) -> None:
        """Both gradients, or those of the inputs while those of the weights wait."""
        micro_batch = self._next[PassKind.BACKWARD][chunk]
        self._next[PassKind.BACKWARD][chunk] += 1
        kind = PassKind.INPUT_GRADIENT if weights_wait else PassKind.BACKWARD
        self.tasks.append(PipelineTask(kind, chunk, micro_batch, beside))
        if weights_wait:
            self._waiting.append((chunk, micro_batch))

    def weights(self) -> None:
        """The gradients of the weights that wait for the longest time."""
        self.tasks.append(PipelineTask(PassKind.WEIGHT_GRADIENT, *self._waiting.popleft()))

    def both(self, forward: int, backward: int) -> None:
        """A forward pass of one chunk and a backward pass of the other at a time."""
        self.forward(forward)
        self.backward(backward, beside=True)

    def _add(self, kind: PassKind, chunk: int) -> None:
        self.tasks.append(PipelineTask(kind, chunk, self._next[kind][chunk]))
        self._next[kind][chunk] += 1


def zero_bubble_v(stage: int, stages: int, micro_batches: int) -> list[PipelineTask]:
    """ZB-V: no bubble where a forward pass, the inputs' gradient and the weights' take equally long."""
    order, enough = _Order(), max(2 * stages - 1, micro_batches)  # fewer: the passes of those that are missing go
    early = 2 * (stages - stage) - 1
    for _ in range(early):
        order.forward(0)
    for _ in range(stage):
        order.forward(1)
        order.forward(0)
    for _ in range(stages - stage):
        _forward_and_back(order, 1)
    for number in range(enough - stages):
        if early + stage + number < enough:
            order.forward(0)
        _back(order, 0)
        _forward_and_back(order, 1)
    for _ in range(stage):
        order.backward(0, weights_wait=True)
        order.backward(1, weights_wait=True)
    return _cool_down(order, stage, stages, micro_batches)


def _cool_down(order: _Order, stage: int, stages: int, micro_batches: int) -> list[PipelineTask]:
    """The gradients of inputs that are left, those of the first chunk's weights between them; then all others."""
    tasks = order.tasks
    done = {(task.chunk, task.micro_batch) for task in tasks if task.kind is PassKind.WEIGHT_GRADIENT}
    asked = [task for task in tasks if task.kind is PassKind.INPUT_GRADIENT]
    waiting = {
        chunk: deque(
            task.micro_batch for task in asked if task.chunk == chunk and (chunk, task.micro_batch) not in done
        )
        for chunk in (0, 1)
    }
    first = sum(task.chunk == 0 for task in asked)
    for micro_batch in range(first, first + stages - stage):
        tasks.append(PipelineTask(PassKind.INPUT_GRADIENT, 0, micro_batch))
        waiting[0].append(micro_batch)
        tasks.append(PipelineTask(PassKind.WEIGHT_GRADIENT, 0, waiting[0].popleft()))
    for chunk in (1, 0):
        tasks += (PipelineTask(PassKind.WEIGHT_GRADIENT, chunk, micro_batch) for micro_batch in waiting[chunk])
    return [task for task in tasks if task.micro_batch < micro_batches]


def _forward_and_back(order: _Order, chunk: int) -> None:
    order.forward(chunk)
    _back(order, chunk)


def _back(order: _Order, chunk: int) -> None:
    order.backward(chunk, weights_wait=True)
    order.weights()


def dual_pipe(stage: int, stages: int, micro_batches: int) -> list[PipelineTask]:
    """DualPipe: the first half of the micro-batches enters at the first stage (chunk 0), the other at the last (1).

    `stages` are even, `micro_batches` even and at least twice as many.
    """
    half = micro_batches // 2
    near = int(2 * stage >= stages)  # the chunk whose micro-batches enter at the nearer end
    return _dual(_Order((0, half)), near, min(stage, stages - 1 - stage), stages // 2, half)


def dual_pipe_v(stage: int, stages: int, micro_batches: int) -> list[PipelineTask]:
    """DualPipeV: DualPipe's order for the chunks of a V; `micro_batches` are at least twice as many as `stages`."""
    return _dual(_Order(), 0, stage, stages, micro_batches)


def _dual(order: _Order, near: int, place: int, places: int, micro_batches: int) -> list[PipelineTask]:
    """The eight steps; `place` of `places` from an end to the middle."""
    far, inner = 1 - near, places - 1 - place
    for _ in range(2 * inner):
        order.forward(near)
    for _ in range(place + 1):
        order.forward(near)
        order.forward(far)
    for _ in range(inner):
        order.backward(far, weights_wait=True)
        order.weights()
        order.forward(far)
    for number in range(micro_batches - 2 * places + place + 1):
        if number or inner:
            order.both(near, far)
        else:  # in the middle the first two do not overlap: what the neighbours wait for is sent at once
            order.forward(near)
            order.backward(far)
        order.both(far, near)
    for _ in range(inner):
        order.backward(far)
        order.both(far, near)
    _drain(order, near, place)
    for _ in range(inner):
        order.weights()
        order.backward(near, weights_wait=True)
    for _ in range(place + 1):
        order.weights()
    return order.tasks


def _drain(order: _Order, near: int, place: int) -> None:
    """Backward passes alone; the weights of the later half of them wait."""
    weights_wait = False
    for number in range(place + 1):
        at_half = number == (place + 1) // 2
        weights_wait |= at_half and place % 2 == 1
        order.backward(1 - near, weights_wait)
        weights_wait |= at_half and place % 2 == 0
        order.backward(near, weights_wait)
