"""The words by which users ask for NCCL's algorithms."""

__all__ = ["MODEL", "NCCL", "is_nccl", "is_nccl_model"]

NCCL, MODEL = "nccl", "nccl-model"


def is_nccl(text: str) -> bool:
    """Whether the name of an algorithm asks for NCCL's."""
    return text == NCCL or text.startswith(f"{NCCL}:")


def is_nccl_model(text: str) -> bool:
    """Whether it asks for the time that NCCL's model says."""
    return text == MODEL or text.startswith(f"{MODEL}:")
