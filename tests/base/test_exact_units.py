"""Quantities are written so that they read back exactly, and shortest."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket.base.errors import FormatError
from hocket.base.units import (
    exact_bandwidth,
    exact_bytes,
    exact_time,
    format_bytes_apart,
    format_limit,
    format_time,
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


@given(st.one_of(st.integers(0, LARGEST), st.integers(0, 2**42).map(lambda mebibytes: mebibytes * 2**20)))
def test_sizes_read_back(size: int) -> None:
    assert parse_bytes(exact_bytes(size)) == size


def test_the_shortest_text_is_taken() -> None:
    assert exact_bandwidth(50 * 10**9) == "50GB/s"
    assert exact_bandwidth(25 * 2**29) == "12.5GiB/s"
    assert exact_bandwidth(7) == "7B/s"
    assert [exact_bytes(size) for size in (2**26, 1024, 1536, 4309376, 0)] == ["64MiB", "1KiB", "1536", "4309376", "0"]
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


def test_long_times_are_told_in_hours_without_an_exponent() -> None:
    """A watch on a job of three hours printed `for 1.117e+04 s`."""
    assert [format_time(seconds * 10**12) for seconds in (3_599, 11_170, 200 * 3_600, 10**8)] == [
        "3599 s",
        "3.103 h",
        "200 h",
        "27778 h",
    ]


@given(time_ps=st.integers(0, LARGEST * 10**6))
def test_no_time_is_told_with_an_exponent(time_ps: int) -> None:
    assert "e" not in format_time(time_ps)
