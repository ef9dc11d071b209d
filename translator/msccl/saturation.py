"""What one thread block must move for a prediction to come true: the simulator lets it fill any link."""

from hocket.schedule import Program
from hocket.translator.msccl.findings import Finding, Severity

__all__ = ["CHANNEL_BANDWIDTH", "saturation_findings"]

#: Bytes/s beyond which NCCL plans no channel, which is a thread block, inside a machine of H100s (its graph search;
#: older GPUs 40e9, Blackwell 90e9).
CHANNEL_BANDWIDTH = 60 * 10**9


def saturation_findings(program: Program, size_bytes: int, time_ps: int) -> list[Finding]:
    """A note where a thread block of the program would have to send more than `CHANNEL_BANDWIDTH`, on average over a
    call of `size_bytes` that takes `time_ps`."""
    chunk_bytes = -(-size_bytes // program.chunks_per_loop)
    loads = (
        (sum(step.count for step in block.steps if step.type.sends) * chunk_bytes, -rank)
        for rank, gpu in enumerate(program.gpus)
        for block in gpu.thread_blocks
    )
    sent, rank = max(loads, default=(0, 0))
    bandwidth = sent * 10**12 // max(time_ps, 1)
    if bandwidth <= CHANNEL_BANDWIDTH:
        return []
    message = (
        f"the prediction has a thread block send {bandwidth / 1e9:.0f} GB/s, and NCCL plans at most "
        f"{CHANNEL_BANDWIDTH // 10**9} for one on H100 (40 on older GPUs): the simulator knows links, not blocks"
    )
    remedy = "give more --channels or --instances, and measure"
    return [Finding("saturation", Severity.NOTE, 0, f"rank {-rank}", message, remedy)]
