"""Called by every `import torch` (entry point `torch.backends`): arms what the environment asks for."""

import os
from importlib import import_module

__all__ = ["arm"]


def arm() -> None:
    """Does nothing, at the cost of two dictionary look-ups, unless HOCKET_COLLECT or HOCKET_ALGORITHMS is set."""
    collects, serves = os.environ.get("HOCKET_COLLECT"), os.environ.get("HOCKET_ALGORITHMS")
    if collects or serves:
        import_module("torch")  # first: its import comes back here, and must not meet a module half imported
    if serves:
        from hocket.plugin.algorithms import arm as arm_algorithms

        arm_algorithms()
    if collects:
        from hocket.plugin.torch import collector

        collector.arm()
