"""Training of large language models: a model card and a parallel plan become one step's traces."""

from hocket.chakra.generate.llm.card import Experts, LatentAttention, ModelCard
from hocket.chakra.generate.llm.pipeline import PipelineSchedule
from hocket.chakra.generate.llm.plan import ContextMethod, Plan, Recomputation
from hocket.chakra.generate.llm.presets import MODELS
from hocket.chakra.generate.llm.traces import llm_traces

__all__ = [
    "MODELS",
    "ContextMethod",
    "Experts",
    "LatentAttention",
    "ModelCard",
    "PipelineSchedule",
    "Plan",
    "Recomputation",
    "llm_traces",
]
