"""What the numbers in a thread block's ops refer to."""

from dataclasses import dataclass, field

from hocket.translator.mscclpp.plan import ExecutionPlan, Op, Operand

__all__ = ["References"]


@dataclass(frozen=True)
class References:
    """The channels and remote buffers of one thread block, of a plan whose own references are right."""

    plan: ExecutionPlan
    rank: int
    block: int
    _channels: dict[str, list[int]] = field(init=False, default_factory=dict)
    _remotes: dict[str, list[tuple[int, str]]] = field(init=False, default_factory=dict)
    _peers: dict[str, list[int]] = field(init=False, default_factory=dict)
    _switches: list[tuple[str, tuple[int, ...]]] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        gpu = self.plan.gpus[self.rank]
        block = gpu.thread_blocks[self.block]
        self._peers.update((kind, gpu.peers(kind)) for kind in ("memory", "port"))
        self._switches.extend(gpu.switches)
        for channels in block.channels:
            self._channels.setdefault(channels.channel_type, []).extend(channels.channel_ids)
        for refs in block.remote_buffers:
            buffers = [gpu.remote_buffers[number] for number in refs.remote_buffer_ids]
            self._remotes.setdefault(refs.access_channel_type, []).extend((one.rank, one.type) for one in buffers)

    def number(self, op: Op, channel: int) -> int:
        """A channel's number among the rank's channels of its type."""
        return self._channels[op.channel_type or "none"][channel]

    def channel(self, op: Op, channel: int) -> int | None:
        """The rank that a channel of the op leads to (-1: a group); None: there is no such channel."""
        numbers = self._channels.get(op.channel_type or "none", [])
        if channel >= len(numbers):
            return None
        if op.channel_type not in ("memory", "port"):
            return -1
        return self._peers[op.channel_type][numbers[channel]]

    def has_remote(self, op: Op, operand: Operand) -> bool:
        return (operand.buffer_id or 0) < len(self._remotes.get(op.channel_type or "none", []))

    def remote(self, op: Op, operand: Operand) -> tuple[int, str]:
        """Rank and buffer of a remote operand."""
        return self._remotes[op.channel_type or "none"][operand.buffer_id or 0]

    def has_switch(self, operand: Operand) -> bool:
        return (operand.switch_channel_id or 0) < len(self._channels.get("switch", []))

    def places(self, op: Op, operand: Operand) -> list[tuple[int, str]]:
        """Rank and buffer of an operand: one, or those of all ranks behind its switch."""
        if operand.type is not None:
            return [(self.rank, operand.type)]
        if operand.buffer_id is not None:
            return [self.remote(op, operand)]
        buffer, ranks = self._switches[self._channels["switch"][operand.switch_channel_id or 0]]
        return [(rank, buffer) for rank in ranks]
