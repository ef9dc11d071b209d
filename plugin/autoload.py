"""Called by every `import torch` (entry point `torch.backends`): arms what the environment asks for."""

import os
from importlib import import_module

__all__ = ["arm"]

_tried_to_collect = False


def arm() -> None:
    """Does nothing, at the cost of two dictionary look-ups, unless HOCKET_COLLECT or HOCKET_ALGORITHMS is set.

    When the collector cannot start, says why on stderr, once: no reason for the job to fail. Programs that cannot be
    served are one: it ends here, with the exit code of bad input.
    """
    global _tried_to_collect
    collects, serves = os.environ.get("HOCKET_COLLECT"), os.environ.get("HOCKET_ALGORITHMS")
    if collects or serves:
        import_module("torch")  # first: its import comes back here, and must not meet a module half imported
    if serves:
        _prepare_programs(serves)
    if collects and not _tried_to_collect:
        _tried_to_collect = True
        try:
            from hocket.plugin.torch import collector

            collector.arm()
        except Exception as error:
            from hocket.base.notices import notice

            notice(f"hocket: nothing is collected: {error}")
    if serves:  # below the collector, if there is one
        from hocket.plugin.serve import activation

        activation.serve()


def _prepare_programs(source: str) -> None:
    """Raises SystemExit, having said why in a line, where they cannot be read or are wrong: torch would wrap an error
    in its own, with a traceback for each, as though its import were broken."""
    from hocket.base.errors import HocketError, exit_code
    from hocket.plugin.serve import activation

    try:
        activation.arm()
    except HocketError as error:
        from hocket.base.notices import notice

        places = ":".join(os.path.abspath(part) for part in source.split(":") if part)
        notice(f"hocket: HOCKET_ALGORITHMS={places}: {error}")
        raise SystemExit(int(exit_code(error))) from None
