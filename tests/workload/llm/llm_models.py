"""Small models and plans for the tests."""

from dataclasses import replace

from hocket.workload.llm import Experts, ModelCard

TINY = ModelCard(
    name="tiny", layers=8, hidden=256, heads=8, key_value_heads=4, head_dim=32, ffn=512, vocabulary=1000, sequence=128
)
EXPERTS = replace(TINY, name="experts", experts=Experts(count=8, top_k=2, ffn=128, shared=1, dense_layers=1))
TIED = replace(TINY, name="tied", gated=False, layer_norm=True, biases=True, positions=128, tied_embeddings=True)
