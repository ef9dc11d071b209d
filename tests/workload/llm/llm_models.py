"""Small models and plans for the tests."""

from collections import Counter
from dataclasses import replace

import numpy as np

from hocket.chakra import CollectiveType, NodeType, TraceSet
from hocket.workload.llm import Experts, ModelCard

TINY = ModelCard(
    name="tiny", layers=8, hidden=256, heads=8, key_value_heads=4, head_dim=32, ffn=512, vocabulary=1000, sequence=128
)
EXPERTS = replace(TINY, name="experts", experts=Experts(count=8, top_k=2, ffn=128, shared=1, dense_layers=1))
TIED = replace(TINY, name="tied", gated=False, layer_norm=True, biases=True, positions=128, tied_embeddings=True)


def communicated(traces: TraceSet, rank: int, kind: CollectiveType, group: str) -> Counter[int]:
    """How often the rank has a collective of each size."""
    trace = traces.traces[rank]
    names = np.array([trace.strings[name].partition(".")[0] if name >= 0 else "" for name in trace.process_group])
    rows = (trace.type == NodeType.COMM_COLL) & (trace.comm_type == kind) & (names == group)
    return Counter(trace.comm_bytes[rows].tolist())
