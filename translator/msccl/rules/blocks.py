"""Rules of `<tb>`: ids, peers, channels, and how many of them there are."""

import numpy as np
from numpy.typing import NDArray

from hocket.translator.msccl.columns import DocumentColumns
from hocket.translator.msccl.findings import Severity
from hocket.translator.msccl.profile import Profile
from hocket.translator.msccl.rules.rule import Rule, block_rule

__all__ = ["BLOCK_RULES"]

_PEERS = ("send", "recv")


def _peers(columns: DocumentColumns) -> NDArray[np.int64]:
    """Send and receive peer of each block (B x 2)."""
    return np.stack([columns.document.blocks.number(key) for key in _PEERS], axis=1)


def _own_peer(columns: DocumentColumns, _profile: Profile) -> NDArray[np.bool_]:
    send, receive = _peers(columns).T
    own: NDArray[np.bool_] = (send == columns.rank) | (receive == columns.rank)
    return own


def _negative_peer(columns: DocumentColumns, _profile: Profile) -> NDArray[np.bool_]:
    send, receive = _peers(columns).T
    negative: NDArray[np.bool_] = np.minimum(send, receive) < -1
    return negative


def _absent_peer(columns: DocumentColumns, _profile: Profile) -> NDArray[np.bool_]:
    send, receive = _peers(columns).T
    absent: NDArray[np.bool_] = np.maximum(send, receive) >= max(1, columns.document.num_ranks)
    return absent


def _repeated_id(columns: DocumentColumns, _profile: Profile) -> NDArray[np.bool_]:
    keys = np.stack([columns.document.blocks.parent, columns.block_id], axis=1)
    _, first = np.unique(keys, axis=0, return_index=True)
    repeated = np.ones(len(keys), bool)
    repeated[first] = False
    return repeated


def _beyond_gap(columns: DocumentColumns, _profile: Profile) -> NDArray[np.bool_]:
    return columns.block_id >= columns.num_blocks[columns.document.blocks.parent]


def _users_before(columns: DocumentColumns, direction: int) -> NDArray[np.int64]:
    """Blocks of the same gpu and channel, up to and with each block, that have a peer in this direction."""
    has = _peers(columns)[:, direction] >= 0
    order = np.lexsort((np.arange(len(has)), columns.channel, columns.document.blocks.parent))
    running = np.cumsum(has[order])
    group = np.stack([columns.document.blocks.parent, columns.channel], axis=1)[order]
    fresh = np.concatenate([[True], (group[1:] != group[:-1]).any(axis=1)])[: len(has)]
    before = np.maximum.accumulate(np.where(fresh, np.concatenate([[0], running])[: len(has)], 0))
    users = np.empty(len(has), np.int64)
    users[order] = running - before
    return users * has


def _crowded(direction: int) -> Rule:
    verb = ("send", "receive")[direction]
    return block_rule(
        f"{verb}s of a channel",
        Severity.REJECT,
        lambda columns, profile: _users_before(columns, direction) > profile.max_blocks_per_channel,
        lambda columns, profile, row: (
            f"more than {profile.max_blocks_per_channel} thread blocks {verb} on channel {columns.channel[row]}"
        ),
        "use more channels",
    )


BLOCK_RULES: list[Rule] = [
    block_rule(
        "negative id",
        Severity.REJECT,
        lambda columns, _: columns.block_id < 0,
        lambda columns, _, row: f'id="{columns.block_id[row]}" is out of range, expected 0 or more',
        "number them 0, 1, 2, ...",
        blocks=True,
    ),
    block_rule(
        "repeated id",
        Severity.REJECT,
        _repeated_id,
        lambda columns, _, row: f'id="{columns.block_id[row]}" is used twice in <gpu>',
        "number them 0, 1, 2, ...",
        blocks=True,
    ),
    block_rule(
        "gap",
        Severity.REJECT,
        _beyond_gap,
        lambda columns, _, row: (
            f'id="{columns.block_id[row]}": ids must be 0..'
            f"{columns.num_blocks[columns.document.blocks.parent[row]] - 1} without a gap"
        ),
        "number them 0, 1, 2, ...",
        blocks=True,
    ),
    block_rule(
        "own peer",
        Severity.REJECT,
        _own_peer,
        lambda columns, _, row: f"has its own rank {columns.rank[row]} as a peer",
        "use cpy or re for local work",
        blocks=True,
    ),
    block_rule(
        "negative peer",
        Severity.REJECT,
        _negative_peer,
        lambda columns, _, row: f"send and recv {_peers(columns)[row].tolist()} are out of range",
        "write -1 for none",
        blocks=True,
    ),
    block_rule(
        "absent peer",
        lambda _, profile, __: Severity.REJECT if profile.checks_program else Severity.KERNEL,
        _absent_peer,
        lambda columns, _, row: (
            f"send and recv {_peers(columns)[row].tolist()}: ranks are 0..{columns.document.num_ranks - 1}"
        ),
        "name a rank, or -1 for none",
        blocks=True,
    ),
    block_rule(
        "channel number",
        Severity.REJECT,
        lambda columns, profile: (columns.channel < 0) | (columns.channel >= profile.max_channels),
        lambda columns, profile, row: (
            f'chan="{columns.channel[row]}" is out of range, channels are 0..{profile.max_channels - 1}'
            + (
                ": the parser takes it and writes beyond its table"
                if columns.channel[row] == profile.max_channels
                else ""
            )
        ),
        "use fewer channels",
    ),
    block_rule(
        "absent channel",
        Severity.KERNEL,
        lambda columns, _: columns.channel >= columns.num_channels,
        lambda columns, _, row: (
            f'chan="{columns.channel[row]}" is out of range with nchannels="{columns.num_channels}": its connection is '
            "never made"
        ),
        "raise nchannels",
        blocks=True,
    ),
    _crowded(0),
    _crowded(1),
]
