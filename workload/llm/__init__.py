"""Training of large language models: a model card and a parallel plan become one step's traces."""

from hocket.workload.llm.card import Experts, LatentAttention, ModelCard, Window
from hocket.workload.llm.loads import ExpertLoads
from hocket.workload.llm.pipeline import PipelineSchedule
from hocket.workload.llm.plan import AttentionKernel, ContextMethod, ParallelPlan, Recomputation
from hocket.workload.llm.presets import MODELS
from hocket.workload.llm.routing import TokenDispatch, TokenFormat
from hocket.workload.llm.traces import llm_traces

__all__ = [
    "MODELS",
    "AttentionKernel",
    "ContextMethod",
    "ExpertLoads",
    "Experts",
    "LatentAttention",
    "ModelCard",
    "ParallelPlan",
    "PipelineSchedule",
    "Recomputation",
    "TokenDispatch",
    "TokenFormat",
    "Window",
    "llm_traces",
]
