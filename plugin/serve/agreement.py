"""What the ranks of a group tell each other before their first program."""

from typing import Any

import torch

from hocket.base.errors import HocketError
from hocket.runtime.engine.library import Library

__all__ = ["exchange_words"]

_BYTES = 256


def exchange_words(backend: Any, device: torch.device, library: Library, words: str) -> list[str]:
    """What each rank says, by one all_gather of the group's own. Raises HocketError where one has other programs."""
    said = f"{library.fingerprint}|{words}".encode().ljust(_BYTES)
    mine = torch.tensor(list(said), dtype=torch.uint8, device=device)
    everyone = [torch.empty_like(mine) for _ in range(backend.size())]
    backend.allgather([everyone], [mine]).wait()
    answers = [bytes(data.tolist()).decode().rstrip().partition("|") for data in everyone]
    for rank, (fingerprint, _, _) in enumerate(answers):
        if int(fingerprint) != library.fingerprint:
            raise HocketError(
                f"rank {rank} of this group has other programs than rank {backend.rank()} ({library.source}): give all "
                "ranks the same bundle"
            )
    return [answer for _, _, answer in answers]
