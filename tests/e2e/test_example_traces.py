"""The traces shipped in examples/, which stand in for a collection where PyTorch is not installed."""

from pathlib import Path

from hocket.chakra import CollectiveType, NodeType, read_traces

TRACES = Path(__file__).parents[2] / "examples" / "traces"


def test_shipped_traces_hold_three_steps_of_the_example_on_four_ranks() -> None:
    traces = read_traces(str(TRACES))
    assert traces.num_ranks == 4
    # Of 4 bytes each: embedding 96 x 256, positions 32 x 256, head 256 x 96 + 96; a layer has attention 4 x 256 x 256
    # with 4 x 256 biases, feed-forward 2 x 256 x 1024 with 1024 + 256, two normalizations of 2 x 256.
    layer = 4 * 256 * 256 + 4 * 256 + 2 * 256 * 1024 + 1024 + 256 + 2 * 2 * 256
    gradients = 4 * (96 * 256 + 32 * 256 + 256 * 96 + 96 + 3 * layer)
    for trace in traces.traces:
        collectives = trace.type == NodeType.COMM_COLL
        assert (trace.comm_type[collectives] == CollectiveType.ALL_REDUCE).all()
        assert trace.comm_bytes[collectives].sum() == 3 * (gradients + 4)  # and the mean loss
        assert trace.duration_ns[trace.type == NodeType.COMP].sum() > 0
