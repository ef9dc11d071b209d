"""Called by every `import torch` (entry point `torch.backends`): arms the collector when HOCKET_COLLECT is set."""

import os
from importlib import import_module

__all__ = ["arm"]


def arm() -> None:
    """Does nothing, at the cost of one dictionary look-up, unless HOCKET_COLLECT names a folder."""
    if os.environ.get("HOCKET_COLLECT"):
        import_module("torch")  # first: its import comes back here, and must not meet a collector half imported
        from hocket.plugin.torch import collector

        collector.arm()
