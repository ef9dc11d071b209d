"""What runs inside a job: the PyTorch collector, programs in place of its collectives, the NCCL plugins, executors."""

from pathlib import Path

__all__ = ["use"]


def use(source: str | Path) -> None:
    """Serves this process's collectives from now on with proved programs: `hocket.plugin.serve.activation.use`."""
    from hocket.plugin.serve import activation

    activation.use(source)
