"""Connections to a job's store."""

import os

import torch.distributed as dist

__all__ = ["own_connection"]

# Where the job's store is older than this attempt at the job, its keys begin with these.
_ATTEMPT = ("TORCHELASTIC_RUN_ID", "MASTER_PORT", "TORCHELASTIC_RESTART_COUNT")


def own_connection(store: dist.Store) -> dist.Store:
    """Another connection to where `store` is, with keys of this attempt of the job. Who waits for a key keeps all
    others from using his connection, be it to tell what he waits for. Stores that have but one, as of Python, are
    shared."""
    return dist.PrefixStore(_attempt(), _another(store))


def _another(store: dist.Store) -> dist.Store:
    if hasattr(store, "clone"):
        try:
            return store.clone()
        except RuntimeError:  # of a class that has none
            return store
    while isinstance(store, dist.PrefixStore):  # torch 2.6 and older
        store = store.underlying_store
    if isinstance(store, dist.TCPStore):
        return dist.TCPStore(store.host, store.port, is_master=False, wait_for_workers=False)
    return store


def _attempt() -> str:
    return ":".join(os.environ.get(name, "") for name in _ATTEMPT)
