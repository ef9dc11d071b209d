"""Whatever names files, groups, nodes, fields and options have: what is wrong with it is said without obeying it."""

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest
import yaml
from hostile_files import obeyed
from hypothesis import example, given, settings
from hypothesis import strategies as st
from in_process import hocket
from streams import END, call, done, group, meta, write

from hocket.chakra import CollectiveType, TraceBuilder, TraceSet, write_traces
from hocket.chakra.groups import write_groups

RING = "ring:2,bandwidth=50GB/s,latency=500ns"
# What terminals obey, beside what people read: C0, C1, DEL, marks of direction, ends of lines, markup, formulas.
OBEYED = "\r\n\t\0\x1b\x07\x08\x7f\x85\x9b\u200f\u202e\u2066\u2028\u2029\ufeff"
NAMES = st.text(st.sampled_from(f"{OBEYED}ab[/]|=<>&'\"\\$é"), min_size=1, max_size=8)
# Names of files and words of a command line hold neither 0 nor, in names, a slash.
PATHS = NAMES.map(lambda name: name.translate({0: "0", ord("/"): "_"}))


def job(folder: Path, name: str, groups: tuple[str, str], sizes: tuple[int, int] = (8, 8), late: int = 0) -> Path:
    """Two ranks that sum up in a group each, after a node that is `late` behind the last."""
    built = []
    for rank, (own, size) in enumerate(zip(groups, sizes, strict=True)):
        builder = TraceBuilder({"rank": rank, "world_size": 2, "job": name})
        first = builder.add_comp(name, duration_ns=1000)
        builder.add_collective(name, CollectiveType.ALL_REDUCE, size, group=own, deps=[first + late])
        built.append(builder.build())
    write_traces(folder, TraceSet(tuple(built), {name: (0, 1)}))
    return folder


def _unknown_group(folder: Path, name: str) -> list[object]:
    return ["trace", "validate", job(folder / "t", name, (name, f"{name}!"))]


def _no_such_node(folder: Path, name: str) -> list[object]:
    return ["trace", "validate", job(folder / "t", name, (name, name), late=40)]


def _other_sizes(folder: Path, name: str) -> list[object]:
    return ["simulate", job(folder / "t", name, (name, name), sizes=(8, 16)), "-t", RING]


def _absent_dependency(folder: Path, name: str) -> list[object]:
    return ["simulate", job(folder / "t", name, (name, name), late=40), "-t", RING]


def _step_of_unknown_group(folder: Path, name: str) -> list[object]:
    return ["step", job(folder / "t", name, (name, f"{name}!")), "-t", RING]


def _groups_of_strangers(folder: Path, name: str) -> list[object]:
    traces = job(folder / "t", name, (name, name))
    write_groups(folder / "groups.json", {name: (0, 7)})
    return ["trace", "info", traces, "--groups", folder / "groups.json"]


def _odd_groups(folder: Path, name: str) -> list[object]:
    (folder / "groups.json").write_text(json.dumps({name: [name]}))
    return ["trace", "info", job(folder / "t", name, (name, name)), "--groups", folder / "groups.json"]


def _odd_topology(folder: Path, name: str) -> list[object]:
    described = {"name": name, name: name, "dimensions": [{"kind": name, "size": 4}]}
    (folder / "t.yaml").write_text(yaml.safe_dump(described), encoding="utf-8")
    return ["topology", "show", folder / "t.yaml"]


def _odd_sweep(folder: Path, name: str) -> list[object]:
    (folder / "s.yaml").write_text(yaml.safe_dump({"topology": name, "collective": name, "size": [name]}))
    return ["sweep", folder / "s.yaml"]


def _odd_prediction(folder: Path, name: str) -> list[object]:
    (folder / "p.json").write_text(json.dumps({name: name, "topology": name, "model": name}))
    return ["compare", folder / "p.json", folder / "p.json"]


def _odd_xml(folder: Path, name: str) -> list[object]:
    quoted = "".join(f"&#{ord(char)};" if ord(char) in (9, 10, 13) or ord(char) > 31 else "" for char in name)
    (folder / "a.xml").write_text(
        f'<algo name="{quoted}" proto="{quoted}" coll="{quoted}" nchannels="1" nchunksperloop="1" ngpus="2"'
        f' inplace="1"><gpu id="{quoted}"><tb id="{quoted}"><step type="{quoted}"/></tb></gpu></algo>',
        encoding="utf-8",
    )
    return ["explain", folder / "a.xml", "-c", "all_reduce", "-s", "1KiB", "-n", "2", "--runtime", "msccl"]


def _odd_stream(folder: Path, name: str) -> list[object]:
    for rank in (0, 1):
        shape = {"op": f"allreduce_{name}", "dtype": name}
        records = meta(rank, script=name, job=name), group([0, 1], name=name), call(0, 10, 0, **shape), done(0, 20), END
        write(folder / "job", rank, *records, tail=json.dumps({"k": name, name: name}) + "\n")
    return ["collect", "merge", folder / "job"]


FAULTS: list[Callable[[Path, str], list[object]]] = [
    _unknown_group,
    _no_such_node,
    _other_sizes,
    _absent_dependency,
    _step_of_unknown_group,
    _groups_of_strangers,
    _odd_groups,
    _odd_topology,
    _odd_sweep,
    _odd_prediction,
    _odd_xml,
    _odd_stream,
]


def hold(done: CompletedProcess[str]) -> None:
    assert "Traceback" not in done.stderr
    assert not list(obeyed("", done.stdout + done.stderr)), done.stdout + done.stderr


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__.strip("_"))
@settings(max_examples=12)
@given(name=NAMES)
@example(name="a\r\x1b[2J\u202e\x9b31m\n[red]")
def test_faults_are_said_without_obeying_names(
    fault: Callable[[Path, str], list[object]], tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    done = hocket(*fault(tmp_path_factory.mktemp("fault"), name))
    assert done.returncode in (0, 1, 2, 3), done.stderr
    hold(done)


WORDS = [
    "{}",
    "trace {}",
    "trace info {}",
    "trace info a {}",
    "trace info a --{}",
    "trace info a --{}=1",
    "trace graph a -o b --limit {}",
    "trace validate a --profile {}",
    "simulate {} -t ring:4",
    "simulate all_reduce -s {} -t ring:4",
    "simulate all_reduce -s 1KiB -t {}",
    "topology show {}",
    "sweep {}",
    "compare {} {}",
    "verify {}",
    "collect merge {}",
]


@pytest.mark.parametrize("words", WORDS)
@settings(max_examples=12)
@given(name=PATHS)
@example(name="a\r\x1b[2J\u202e\x9b31m\n[red]")
def test_words_of_the_command_line_are_not_obeyed(words: str, tmp_path: Path, name: str) -> None:
    hold(hocket(*(word.format(name) for word in words.split(" ")), cwd=tmp_path))
