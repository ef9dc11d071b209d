"""Why a rank gave up, told through the job's store: its peers see no more than that its connections close."""

import torch.distributed as dist

from hocket.plugin.torch import interfaces

__all__ = ["FailureNotices"]


class FailureNotices:
    """Of the ranks of one group."""

    def __init__(self, group: dist.ProcessGroup) -> None:
        self._store = interfaces.STORE.need()()
        self._prefix = f"hocket/gave_up/{group.group_name}"

    def leave(self, rank: int, why: str) -> None:
        """To be called before the rank's connections close. Where the store is gone the peers know less."""
        try:
            self._store.set(f"{self._prefix}/{rank}", why)
        except RuntimeError:
            return

    def of(self, rank: int) -> str:
        """What is known of a rank whose connection closed."""
        key = f"{self._prefix}/{rank}"
        try:
            return (
                f"rank {rank} gave up: {self._store.get(key).decode()}" if self._store.check([key]) else "it has ended"
            )
        except RuntimeError:
            return "it has ended, or given up because of another rank; its own output says more"
