"""Connections of their own to a job's store."""

import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402

from hocket.plugin.torch.store_connection import own_connection  # noqa: E402

pytestmark = pytest.mark.torch


class _Plain(dist.Store):
    """A store in Python, which nobody can connect to anew."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[str, bytes] = {}

    def set(self, key: str, value: bytes) -> None:
        self.kept[key] = value

    def get(self, key: str) -> bytes:
        return self.kept[key]


def test_keys_are_those_of_this_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "0")
    own_connection(dist.PrefixStore("job", store)).set("key", "first")
    assert own_connection(dist.PrefixStore("job", store)).check(["key"])
    assert not own_connection(dist.PrefixStore("other", store)).check(["key"])
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "1")
    assert not own_connection(dist.PrefixStore("job", store)).check(["key"])


def test_a_store_of_python_is_shared() -> None:
    store = _Plain()
    own_connection(store).set("key", "value")
    assert list(store.kept.values()) == [b"value"]
