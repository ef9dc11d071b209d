"""Called by every `import torch` (entry point `torch.backends`): arms what the environment asks for."""

import os
import sys
from importlib import import_module

__all__ = ["arm"]

_tried_to_collect = False


def arm() -> None:
    """Does nothing, at the cost of two dictionary look-ups, unless HOCKET_COLLECT or HOCKET_ALGORITHMS is set.

    When the collector cannot start, says why on stderr, once: no reason for the job to fail.
    """
    global _tried_to_collect
    collects, serves = os.environ.get("HOCKET_COLLECT"), os.environ.get("HOCKET_ALGORITHMS")
    if collects or serves:
        import_module("torch")  # first: its import comes back here, and must not meet a module half imported
    if serves:
        from hocket.plugin.serve import activation

        activation.arm()
    if collects and not _tried_to_collect:
        _tried_to_collect = True
        try:
            from hocket.plugin.torch import collector

            collector.arm()
        except Exception as error:
            print(f"hocket: nothing is collected: {error}", file=sys.stderr)
    if serves:  # below the collector, if there is one
        activation.serve()
