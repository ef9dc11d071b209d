"""The model that a request names."""

from __future__ import annotations

from pathlib import Path

from hocket.base.errors import FormatError
from hocket.base.strict_yaml import nearest
from hocket.workload.llm import MODELS, ModelCard
from hocket.workload.llm.huggingface import read_card

__all__ = ["find_card"]


def find_card(model: str) -> ModelCard:
    """A published model by name, or that of a `config.json`. Raises FormatError where there is neither."""
    if model in MODELS:
        return MODELS[model]
    if Path(model).exists():
        return read_card(model)
    raise FormatError(f"{model}: no such model or config.json; {nearest(model, MODELS)}")
