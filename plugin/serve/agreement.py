"""What the ranks of a group tell each other before their first program, so that all go one way."""

from collections import Counter
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from hocket.base.version import __version__
from hocket.plugin.torch import interfaces
from hocket.plugin.torch.store_connection import own_connection
from hocket.runtime.engine.library import Library

__all__ = ["disagreement", "exchange_words"]

_BYTES = 256
#: A rank that has no bundle never comes; one that is late is waited for so long, or most of the group's time limit.
_PATIENCE = timedelta(minutes=2)
_GO, _STOCK = "go", "stock"
_begun: Counter[str] = Counter()


def exchange_words(backend: Any, device: torch.device, words: str) -> list[str]:
    """What each rank says, by one all_gather of the group's own; what is longer than some 200 letters is cut."""
    said = words.encode()[:_BYTES].ljust(_BYTES)
    mine = torch.tensor(list(said), dtype=torch.uint8, device=device)
    everyone = [torch.empty_like(mine) for _ in range(backend.size())]
    backend.allgather([everyone], [mine]).wait()
    return [bytes(data.tolist()).decode(errors="ignore").rstrip() for data in everyone]


def disagreement(
    group: dist.ProcessGroup,
    backend: Any,
    device: torch.device,
    library: Library | str,
    engine: str,
    purpose: str,
    timeout: timedelta,
) -> str:
    """Why the ranks cannot run programs together, alike on all; "" where they can. Collective, but does not hang where
    a rank never asks: `purpose` tells those apart who ask for different ends. A library may be why there is none."""
    patience = min(_PATIENCE, timeout * 3 / 4)
    if not _all_come(group, f"{purpose}/{device.type}", patience):
        return f"not all ranks of the group asked for programs within {patience.total_seconds():g} s"
    fingerprint = "none" if isinstance(library, str) else str(library.fingerprint)
    everyones = [words.split("|") for words in exchange_words(backend, device, f"{fingerprint}|{engine}|{__version__}")]
    for part, what in enumerate(("have different programs", "ask for different engines", "have different versions")):
        for rank, words in enumerate(everyones):
            if words[part] != everyones[0][part]:
                return f"ranks 0 and {rank} of the group {what}"
    return ""


def _all_come(group: dist.ProcessGroup, purpose: str, patience: timedelta) -> bool:
    """Whether all ranks call this in time, which is settled once for all: through the job's store, where one who does
    not come keeps nobody."""
    store = own_connection(interfaces.STORE.need()())
    name = f"hocket/agreement/{group.group_name}/{purpose}"
    _begun[name] += 1
    prefix = f"{name}/{_begun[name]}"
    if store.add(f"{prefix}/came", 1) == group.size():
        store.compare_set(f"{prefix}/decision", "", _GO)
    try:
        store.wait([f"{prefix}/decision"], patience)
    except RuntimeError:  # DistStoreError, where nobody decided so far
        store.compare_set(f"{prefix}/decision", "", _STOCK)
    return bool(store.get(f"{prefix}/decision").decode() == _GO)
