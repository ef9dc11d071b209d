"""Requests of every verb that can be performed, and the files that they are about."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmark_outputs import new_table
from in_process import hocket
from nccl_profiles import write_profile
from streams import END, call, done, group, meta, write
from synthetic import SIZES, cluster

from hocket.api.request import Request
from hocket.api.verbs import VERBS

EXAMPLES = Path(__file__).parents[2] / "examples"
RING = "ring:4,bandwidth=50GB/s,latency=500ns"
TABLE = "# collective, min, max, algorithm, protocol, channels, nodes, ranks\nallreduce,8,92681,ring,ll,-1,2,16\n"
LOG = "node-a:400:455 [0] NCCL INFO "

#: By the words of the verb: options; paths are relative to the folder that `write_files` made.
ASKED: dict[str, list[dict[str, Any]]] = {
    "simulate": [
        {
            **{"what": "traces", "topology": "dgx-h100:gpus=4", "compute_scale": "1/1000", "json": "made.json"},
            **{"report": "made.html", "timeline": "timeline.json", "tables": "tables"},
        },
        {"what": "all_reduce", "topology": RING, "size": "1KiB..4KiB", "json": "made.json", "csv": "made.csv"},
        {
            "what": "all_reduce",
            "topology": "dgx-h100:nodes=2",
            "size": "1MiB",
            "algorithm": "nccl",
            "json": "made.json",
        },
        {"what": "all_reduce", "topology": [RING, "dgx-h100:gpus=4"], "size": "1KiB"},
        {"what": "ar.schedule", "json": "made.json", "report": "made.html"},
        {"what": "ar.xml", "topology": RING, "size": "64KiB", "runtime": "executor", "json": "made.json"},
    ],
    "traffic": [
        {
            **{"pattern": "uniform", "topology": RING, "load": "50%", "duration": "10us", "json": "made.json"},
            **{"csv": "made.csv", "report": "made.html"},
        }
    ],
    "step": [
        {"traces": "traces", "topology": "dgx-h100:gpus=4", "tokens": 4096, "json": "made.json", "report": "made.html"},
        {"traces": "traces", "topology": RING, "what_if": False},
    ],
    "validate": [
        {
            **{"traces": "traces", "topology": "ring:4,bandwidth=1GB/s,latency=100us", "fit": "first-half"},
            **{"json": "made.json", "report": "made.html"},
        }
    ],
    "sweep": [{"file": "sweep.yaml", "output": "swept", "json": "made.json"}],
    "sweep plot": [{"folder": "swept_before", "output": "made.html", "json": "made.json"}],
    "synthesize": [
        {
            **{"collective": "all_gather", "topology": RING, "size": "64KiB", "chunks": 1, "output": "made.schedule"},
            **{"json": "made.json", "report": "made.html"},
        },
        {"collective": "all_gather", "topology": RING, "size": "1KiB..64MiB:65536", "json": "made.json"},
        {"collective": "all_gather", "topology": RING, "size": "1KiB", "group": ["0,1", "2,3"], "json": "made.json"},
    ],
    "verify": [{"files": "ar.schedule"}, {"files": "ar.xml", "json": "made.json", "explain": "made.html"}],
    "translate": [
        {"files": "ar.schedule", "to": "executor", "output": "made.xml", "max_bytes": "64MiB"},
        {"files": "ar.schedule", "to": "executor", "bundle": "bundle"},
        {"files": "ar.schedule", "to": "mscclpp", "output": "plan.json", "json": "made.json"},
        {"files": "ar.schedule", "to": "json", "output": "program.json"},
        {"files": "ar.schedule", "to": "chakra", "output": "graphs"},
        {"files": "ar.schedule", "to": "table", "output": "made.csv"},
        {"files": "ar.xml", "to": "schedule", "topology": RING, "size": "64KiB", "output": "made.schedule"},
        {"files": "ar.xml", "to": "rccl", "output": "made.xml"},
    ],
    "explain": [
        {
            **{"paths": "ar.xml", "collective": "all_reduce", "size": "64KiB", "ranks": 4, "runtime": "executor"},
            **{"in_place": True, "json": "made.json"},
        },
    ],
    "run": [
        {"file": "ar.xml", "size": "64KiB", "iterations": 1, "warmup": 0, "json": "made.json"},
        {"file": "ar.xml", "print": "executor"},
    ],
    "compare": [{"first": "one.json", "second": "two.json", "json": "made.json"}],
    "trace info": [{"traces": "traces", "json": "made.json"}],
    "trace validate": [{"traces": "traces", "json": "made.json"}],
    "trace convert": [{"traces": "traces", "output": "out", "json": "made.json"}],
    "trace to-json": [{"file": "traces/trace.0.et", "output": "made.jsonl"}],
    "trace import": [{"paths": "profile", "output": "out"}],
    "trace complete": [{"traces": "traces/trace.0.et", "world": 4, "output": "out"}],
    "trace merge": [{"paths": "traces", "output": "out"}],
    "trace combine": [{"jobs": ["traces", "other"], "output": "out"}],
    "trace slice": [{"traces": "traces", "output": "out", "nodes": "2:9"}],
    "trace diff": [{"first": "traces", "second": "traces", "json": "made.json"}],
    "trace anonymize": [{"traces": "traces", "output": "out"}],
    "trace timeline": [
        {"traces": "traces", "output": "timeline.json", "json": "made.json"},
        {"traces": "traces", "output": "predicted.json", "topology": "dgx-h100:gpus=4"},
    ],
    "trace graph": [{"file": "traces/trace.0.et", "output": "made.dot", "json": "made.json"}],
    "generate collective": [
        {"json": "made.json", "pattern": "all_reduce", "ranks": 4, "size": "1MiB", "output": "out"}
    ],
    "generate network": [{"what": "resnet50", "ranks": 4, "output": "out", "table": "layers.csv"}],
    "generate llm": [
        {"model": "llama3-8b", "dp": 2, "global_batch": 2, "output": "out"},
        {"model": "llama3-8b", "dp": 2, "global_batch": 2, "output": "llm.job", "json": "made.json"},
    ],
    "generate inference": [
        {"model": "llama3-8b", "tp": 2, "requests": 2, "prompt": 64, "output_tokens": 2, "output": "out"}
    ],
    "bundle": [{"traces": "traces", "topology": RING, "output": "programs", "json": "made.json"}],
    "extrapolate": [{"traces": "traces", "ranks": 8, "output": "out"}],
    "calibrate": [
        {
            **{"files": "two.txt", "topology": "dgx-h100:nodes=2", "output": "made.yaml", "report": "made.html"},
            **{"json": "made.json"},
        }
    ],
    "nccl choose": [
        {"topology": "dgx-h100", "collective": "all_reduce", "most": "1MiB", "csv": "made.csv", "json": "made.json"}
    ],
    "nccl program": [
        {
            "topology": "dgx-h100",
            "size": "1MiB",
            "algorithm": "ring/simple/2",
            "output": "made.xml",
            "json": "made.json",
        }
    ],
    "nccl log": [{"path": "rank0.log", "json": "made.json"}],
    "nccl env": [{"profile": "profile", "kernels": True, "json": "made.json"}],
    "nccl profile show": [{"path": "profile", "json": "made.json"}],
    "nccl tuner make": [
        {"topology": "dgx-h100", "collective": "all_reduce", "output": "made.csv", "json": "made.json"}
    ],
    "nccl tuner check": [{"table": "table.csv", "nodes": 2, "ranks": 16, "json": "made.json"}],
    "topology show": [
        {"topology": "dgx-h100:nodes=2", "json": "made.json", "output": "made.svg"},
        {"topology": "dgx-h100:nodes=2", "output": "made.html"},
    ],
    "topology save": [{"topology": "dgx-h100:nodes=2", "output": "made.yaml", "json": "made.json"}],
    "topology routes": [{"topology": "dgx-h100:nodes=2", "routing": "ecmp", "json": "made.json", "csv": "made.csv"}],
    "topology check": [
        {"topology": RING, "json": "made.json"},
        {"topology": "ring:4,bandwidth=50", "json": "made.json"},
    ],
    "collect merge": [{"folder": "job", "json": "made.json"}],
    "collect watch": [{"folder": "job", "once": True}],
    "collect metrics": [{"folder": "job", "once": True, "json": "made.json"}],
}

#: Verbs that start a job, compile or measure for minutes: what tests them.
ELSEWHERE = {
    "nccl run-stock": "tests/nccl/stock/test_run_stock.py",
    "bench claims": "tests/bench/test_claims.py",
    "bench peers": "tests/bench/test_peers.py",
    "bench speed": "tests/bench/test_speed.py",
    "collect": "tests/plugin/torch/test_collect_launch.py",
    "collect build": "tests/plugin/torch/test_collect_hooks.py",
    "collect trigger": "tests/plugin/torch/test_collect_always_on.py",
    "demo": "tests/e2e/test_main_job.py",
    "launch": "tests/plugin/mpi/test_served.py",
    "view": "tests/cli/test_view.py",
    "doctor": "tests/cli/doctor/test_doctor.py",
    "selftest": "tests/cli/selftest/test_processors.py",
    "replay": "tests/runtime/replay/test_replay.py",
}


def requests() -> Iterator[tuple[str, Callable[[], Request]]]:
    """All of `ASKED`: a name and the request."""
    for words, several in ASKED.items():
        for number, options in enumerate(several):
            yield f"{words} {number}" if number else words, lambda w=words, o=options: VERBS[w].request().of(**o)


def write_files(folder: Path) -> None:
    """The files that the requests are about."""
    shutil.copytree(EXAMPLES / "traces", folder / "traces")
    shutil.copytree(EXAMPLES / "traces", folder / "other")
    for name, bandwidth in (("one", 50), ("two", 25)):
        options = ["-t", f"ring:4,bandwidth={bandwidth}GB/s,latency=500ns", "--json", f"{name}.json"]
        assert hocket("simulate", "all_reduce", "--size", "1MiB", *options, cwd=folder).returncode == 0
    made = ["synthesize", "all_reduce", "-t", RING, "--size", "64KiB", "--chunks", "4", "-o", "ar.schedule"]
    assert hocket(*made, cwd=folder).returncode == 0
    assert hocket("translate", "ar.schedule", "--to", "executor", "-o", "ar.xml", cwd=folder).returncode == 0
    (folder / "sweep.yaml").write_text(f"topology: '{RING}'\ncollective: all_reduce\nsize: [1KiB, 1MiB]\n")
    assert hocket("sweep", "sweep.yaml", "-o", "swept_before", cwd=folder).returncode == 0
    (folder / "two.txt").write_text(new_table(zip(SIZES[3:28], cluster(2).time_us(SIZES[3:28]).tolist(), strict=True)))
    write_profile(folder / "profile", 0, [(256, "RING", "LL", 9000), (512, "RING", "LL", 12000)])
    (folder / "table.csv").write_text(TABLE)
    head = f"{LOG}comm 0x1 rank 0 nRanks 16 nNodes 2 localRanks 8 localRank 0 MNNVL 0\n"
    chosen = "AllReduce: 1048576 Bytes -> Algo TREE proto LL128 channel{Lo..Hi}={0..23}\n"
    (folder / "rank0.log").write_text(f"{head}{LOG}{chosen}")
    for rank in (0, 1):
        (folder / "job").mkdir(exist_ok=True)
        write(folder / "job", rank, meta(rank), group([0, 1]), call(0, 10, 0), done(0, 20), END)
