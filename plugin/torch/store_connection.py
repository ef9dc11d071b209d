"""Connections to a job's store."""

import torch.distributed as dist

__all__ = ["own_connection"]


def own_connection(store: dist.Store) -> dist.Store:
    """Another connection to where `store` is. Who waits for a key keeps all others from using his connection, be it to
    tell what he waits for."""
    if hasattr(store, "clone"):
        return store.clone()
    while isinstance(store, dist.PrefixStore):  # torch 2.6 and older
        store = store.underlying_store
    if isinstance(store, dist.TCPStore):
        return dist.TCPStore(store.host, store.port, is_master=False, wait_for_workers=False)
    return store
