"""Output of benchmarks as they print it, made from rows of (size, time in us)."""

from collections.abc import Iterable, Sequence

HOSTS = ["node-a"] * 8 + ["node-b"] * 8
RANKS = "".join(
    f"#  Rank {rank:2} Group  0 Pid {400 + rank:6} on {host:>10} device {rank % 8:2} [0000:{rank % 8:02x}:00] H100\n"
    for rank, host in enumerate(HOSTS)
)
OLD_RANKS = "".join(
    f"#   Rank {rank:2} Pid {400 + rank:6} on {host:>10} device {rank % 8:2} [0x{rank % 8:02x}] NVIDIA A100\n"
    for rank, host in enumerate(HOSTS)
)


def number(value: float, width: int = 7) -> str:
    """Two digits after the point while they fit, as nccl-tests prints."""
    digits = max(0, min(2, width - 2 - len(str(int(value)))))
    return f"{value:.{digits}f}"


def half(size: int, time: float, factor: float) -> list[str]:
    """time, algbw, busbw as printed."""
    algbw = size / float(number(time)) / 1e3
    return [number(time), number(algbw, 6), number(algbw * factor, 6)]


def new_table(
    rows: Iterable[tuple[int, float]],
    factor: float = 2 * 15 / 16,
    name: str = "all_reduce_perf",
    redop: str = "sum",
    ranks: str = RANKS,
    version: int = 22809,
) -> str:
    """nccl-tests 2.17 and later."""
    text = f"# nccl-tests version 2.17.6 nccl-headers={version} nccl-library={version}\n"
    text += f"# Collective test starting: {name}\n"
    text += (
        "# nThread 1 nGpus 1 minBytes 8 maxBytes 1073741824 step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1\n#\n"
    )
    text += f"# Using devices\n{ranks}#\n"
    text += (
        "#                                                              out-of-place                       in-place\n"
    )
    text += "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw"
    text += "   busbw #wrong\n"
    text += "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)"
    text += "  (GB/s)\n"
    for size, time in rows:
        cells = [*half(size, time, factor), "0", *half(size, time * 0.99, factor), "0"]
        text += f"{size:>12}  {size // 4:>12}  {'float':>8}  {redop:>6}  {-1:>6}  {'  '.join(cells)}\n"
    text += "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 12.3 \n#\n"
    return text + f"# Collective test concluded: {name}\n"


def old_table(rows: Iterable[tuple[int, float]], factor: float = 2 * 15 / 16, redop: str = "sum") -> str:
    """nccl-tests of 2020: no version, no name, no root, `error` instead of `#wrong`."""
    text = (
        "# nThread 1 nGpus 1 minBytes 8 maxBytes 1073741824 step: 2(factor) warmup iters: 5 iters: 20 validation: 1 \n"
    )
    text += f"#\n# Using devices\n{OLD_RANKS}#\n"
    text += "#                                                     out-of-place                       in-place\n"
    text += (
        "#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error\n"
    )
    text += (
        "#        (B)    (elements)                     (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       \n"
    )
    for size, time in rows:
        cells = [*half(size, time, factor), "2e-07", *half(size, time, factor), "N/A"]
        text += f"{size:>12}  {size // 4:>12}   float  {redop:>6}  {'  '.join(cells)}\n"
    return text + "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 12.3 \n#\n"


def json_output(rows: Sequence[tuple[int, float]], factor: float = 2 * 15 / 16) -> dict[str, object]:
    """nccl-tests' -J, version 3."""

    def plain(size: int, time: float) -> dict[str, object]:
        return {"time": time, "alg_bw": size / time / 1e3, "bus_bw": size / time / 1e3 * factor, "nwrong": 0.0}

    devices = [
        {"rank": rank, "group": 0, "pid": 1, "hostname": f"node{rank // 8}", "device": rank % 8, "device_hex": "0"}
        for rank in range(16)
    ]
    results = [
        {"size": size, "count": size // 4, "type": "float", "redop": "sum", "root": "    -1"}
        | {"out_of_place": plain(size, time), "in_place": plain(size, time), "actual_iterations": 20}
        for size, time in rows
    ]
    return {
        "version": 3,
        "start_time": "2026-11-22 10:00:00",
        "args": ["build/all_reduce_perf", "-b", "8", "-J", "out.json"],
        "env": ["NCCL_DEBUG=WARN"],
        "nccl_version": 22809,
        "config": {"nthreads": 1, "ngpus": 1, "devices": devices},
        "results": results,
        "out_of_bounds": {"count": 0, "okay": "true"},
        "average_bus_bandwidth": {"bandwidth": 12.3, "okay": "unchecked"},
        "end_time": "2026-11-22 10:01:00",
        "errors": [],
    }


PERFTEST_BW = """
---------------------------------------------------------------------------------------
                    RDMA_Write BW Test
 Dual-port       : OFF\t\tDevice         : mlx5_0
 Number of qps   : 1\t\tTransport type : IB
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 65536      5000             391.20             390.10             0.744057
 1048576    5000             394.68             394.52             0.047030
---------------------------------------------------------------------------------------
"""
PERFTEST_LAT = """
                    RDMA_Write Latency Test
 #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec]
 2       1000          1.87           4.05         1.91              1.92            0.05            2.10                   4.05
"""  # noqa: E501 - perftest prints such lines
OSU = """
# OSU MPI Allreduce Latency Test v7.3
# Datatype: MPI_CHAR.
# Size       Avg Latency(us)
1024                    5.31
1048576               420.11
"""
