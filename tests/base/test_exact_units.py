"""Quantities are written so that they read back exactly, and shortest."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket.base.errors import FormatError
from hocket.base.units import (
    exact_bandwidth,
    exact_time,
    format_bytes_apart,
    format_limit,
    parse_bandwidth,
    parse_bytes,
    parse_time,
)

LARGEST = 2**63 - 1


@given(st.one_of(st.integers(1, LARGEST), st.integers(1, 4000).map(lambda quarter: quarter * 10**9 // 4)))
def test_bandwidths_read_back(bandwidth: int) -> None:
    assert parse_bandwidth(exact_bandwidth(bandwidth)) == bandwidth


@given(st.integers(0, LARGEST))
def test_times_read_back(time_ps: int) -> None:
    assert parse_time(exact_time(time_ps)) == time_ps


def test_the_shortest_text_is_taken() -> None:
    assert exact_bandwidth(50 * 10**9) == "50GB/s"
    assert exact_bandwidth(25 * 2**29) == "12.5GiB/s"
    assert exact_bandwidth(7) == "7B/s"
    assert exact_time(1_500_000) == "1.5us"
    assert exact_time(0) == "0s"


@pytest.mark.parametrize("text", ["10000000PB", "9e99GB", "1" * 5000])
def test_what_the_engine_cannot_hold_is_refused(text: str) -> None:
    for parse, unit in ((parse_bytes, ""), (parse_bandwidth, "/s")):
        with pytest.raises(FormatError):
            parse(text + unit)


def test_sizes_that_would_read_alike_are_exact() -> None:
    texts = format_bytes_apart([2**20, 2**20 + 16, 4])
    assert texts == {2**20: "1048576 B", 2**20 + 16: "1048592 B", 4: "4 B"}


@given(size=st.integers(0, 1 << 50))
def test_limits_are_exact(size: int) -> None:
    assert parse_bytes(format_limit(size)) == size
    assert (format_limit(55295), format_limit(3 << 19), format_limit((4 << 30) - 4)) == (
        "55295 B",
        "1.5 MiB",
        "4294967292 B",
    )
