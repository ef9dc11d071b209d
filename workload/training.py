"""Traces of training steps of a layered network, with the order of work of ASTRA-sim 1.0's training loops.

Forward: a layer computes and communicates, and the next one waits for that. Backward, from the last layer: input and
weight gradient, each computed, then communicated; the layer before waits for the input gradient's communication, while
the weight gradient's overlaps what follows. The update of a layer's weights waits for its weight gradient, and the
layer's next forward pass for the update. A rank computes one thing at a time, in this order; updates fill the gaps.
"""

from collections import defaultdict

from hocket.base.errors import TraceError
from hocket.chakra.builder import TraceBuilder
from hocket.chakra.renaming import group_names, rename_groups
from hocket.chakra.trace import Trace, TraceSet
from hocket.workload.accelerators import Accelerator, Precision
from hocket.workload.network import Layer, Network, Pass, Scope
from hocket.workload.plan import HybridPlan

__all__ = ["generate_training", "left_out"]

_PICOSECONDS_PER_NANOSECOND = 1000


def generate_training(
    network: Network,
    plan: HybridPlan,
    steps: int = 1,
    accelerator: Accelerator | None = None,
    precision: Precision = Precision.BF16,
) -> TraceSet:
    """The traces of all ranks. Communication in groups of one rank is left out (`left_out` counts it).

    Raises TraceError when a pass has operations instead of a time and there is no accelerator to price them.
    """
    program = _Program(network, plan, accelerator, precision)
    for step in range(steps):
        program.builder.begin_step(step)
        program.add_step()
    template = program.builder.build()
    groups: dict[tuple[int, ...], str] = {}
    traces = tuple(_of_rank(template, plan, rank, groups) for rank in range(plan.num_ranks))
    return TraceSet(traces, {name: members for members, name in groups.items()})


def left_out(network: Network, plan: HybridPlan) -> int:
    """How many collectives of a step have nobody to talk to: their groups are of one rank."""
    return sum(step.kind is not None and plan.size(step.scope) == 1 for step in network.passes())


def _of_rank(template: Trace, plan: HybridPlan, rank: int, groups: dict[tuple[int, ...], str]) -> Trace:
    """The trace of a rank: all do the same, each in its own groups."""
    names = {}
    for scope in group_names(template):
        members = plan.members(Scope(scope), rank)
        names[scope] = groups.setdefault(members, str(len(groups) + 1))
    return rename_groups(template, names)


class _Program:
    """Adds nodes step by step. Groups bear the name of their scope; the group of all ranks has none."""

    def __init__(
        self, network: Network, plan: HybridPlan, accelerator: Accelerator | None, precision: Precision
    ) -> None:
        metadata: dict[str, object] = {"world_size": plan.num_ranks}
        if accelerator is not None and any(step.duration_ns is None and step.num_ops for step in network.passes()):
            metadata |= {"accelerator": accelerator.spec, "precision": str(precision)}
        self.builder = TraceBuilder(metadata)
        self._network = network
        self._plan = plan
        self._accelerator = accelerator
        self._precision = precision
        self._last: set[int] = set()  # what the next computation waits for
        self._inputs: dict[str, set[int]] = defaultdict(set)  # what a layer's forward pass waits for
        self._gradients: dict[str, set[int]] = {}  # what the backward pass of a layer with `needed_by` waits for
        self._needing: dict[str, list[Layer]] = defaultdict(list)
        for layer in network.layers:
            if layer.needed_by:
                self._needing[layer.needed_by].append(layer)

    def add_step(self) -> None:
        for layer in self._network.layers:
            self._last = self._last | self._inputs.pop(layer.name, set())
            self._forward(layer)
        backward = self._network.layers[::-1]
        reduced = [self._backward(layer) for layer in backward]
        # Updates come last, in the order of their ids too: a rank prefers to go on with back-propagation.
        for layer, deps in zip(backward, reduced, strict=True):
            self._inputs[layer.name] |= self._compute(f"{layer.name} update", layer.update, deps) or deps

    def _forward(self, layer: Layer) -> None:
        done = self._pass(f"{layer.name} forward", layer.forward)
        if layer.needed_by:
            self._inputs[layer.needed_by] |= done
        else:
            self._last = self._last | done

    def _backward(self, layer: Layer) -> set[int]:
        """Adds the backward pass; returns what the update of the weights waits for."""
        self._last = self._last | self._gradients.pop(layer.name, set())
        first = self._network.input_gradient_first
        received = self._input_gradient(layer) if first else set()
        reduced = self._pass(f"{layer.name} weight gradient", layer.weight_gradient) or self._last
        if not first:
            received = self._input_gradient(layer)
        self._last = self._last | received
        for other in self._needing[layer.name]:
            name = f"{other.name} input gradient"
            self._gradients[other.name] = self._communicate(name, other.input_gradient, self._last)
        return reduced

    def _input_gradient(self, layer: Layer) -> set[int]:
        name = f"{layer.name} input gradient"
        if not layer.needed_by:
            return self._pass(name, layer.input_gradient)
        self._last = self._compute(name, layer.input_gradient, self._last) or self._last
        return set()

    def _pass(self, name: str, step: Pass) -> set[int]:
        """Adds a pass in the order of computation; returns its communication."""
        self._last = self._compute(name, step, self._last) or self._last
        return self._communicate(name, step, self._last)

    def _compute(self, name: str, step: Pass, deps: set[int]) -> set[int]:
        if not step.computes:
            return set()
        num_ops, num_bytes = (step.num_ops, step.memory_bytes) if step.duration_ns is None else (-1, -1)
        duration_ns = self._duration_ns(name, step)
        node = self.builder.add_comp(
            name, num_ops=num_ops, tensor_bytes=num_bytes, duration_ns=duration_ns, deps=sorted(deps)
        )
        return {node}

    def _duration_ns(self, name: str, step: Pass) -> int:
        if step.duration_ns is not None:
            return step.duration_ns
        if self._accelerator is None:
            raise TraceError(f"{name}: {step.num_ops} operations take an accelerator to price them, or give a time")
        time_ps = self._accelerator.time_ps(step.num_ops, step.memory_bytes, self._precision)
        return -(-time_ps // _PICOSECONDS_PER_NANOSECOND)

    def _communicate(self, name: str, step: Pass, deps: set[int]) -> set[int]:
        members = self._plan.size(step.scope)
        if step.kind is None or members == 1:
            return set()
        group = "" if members == self._plan.num_ranks else step.scope.value
        name = f"{name} {step.kind.name.lower()}"
        return {self.builder.add_collective(name, step.kind, step.comm_bytes, group=group, deps=sorted(deps))}
