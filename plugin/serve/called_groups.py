"""What a job calls its process groups."""

from contextlib import suppress

import torch.distributed as dist

from hocket.plugin.serve.counts import CalledGroup

__all__ = ["called_group"]

_NO_NAMES = ("", "undefined")


def called_group(group: dist.ProcessGroup) -> CalledGroup:
    """By the description that it was made with (`group_desc`, a mesh's dimension), else by its number."""
    ranks: tuple[int, ...] = ()
    with suppress(KeyError, ValueError):  # of a group that torch.distributed does not know
        ranks = tuple(dist.get_process_group_ranks(group))
    described = getattr(group, "group_desc", "")
    if described == "default_pg":
        return CalledGroup("world", ranks)
    return CalledGroup(f"group {group.group_name}" if described in _NO_NAMES else described, ranks)
