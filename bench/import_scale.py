"""Importing PyTorch's profiles of growing size: processor time and memory of `hocket trace import` on Kineto's timeline
and the execution trace of a rank that trains, written here step after step.

Example: python -m hocket.bench.import_scale --megabytes 32 256
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from hocket.base.files import atomic_write
from hocket.base.scratch import scratch_folder
from hocket.bench.command_line import command_line
from hocket.bench.trace_stream import run

__all__ = ["main"]

_LAYERS = 24
_WIDTH = 512
_OPERATORS = ("aten::linear", "aten::addmm", "aten::gelu", "aten::layer_norm", "aten::add", "aten::mul")
_ELEMENTS = 1 << 18  # of each layer's gradient


class _Event(NamedTuple):
    """An operator of a step: times in us from its begin; what it takes, as the two profiles write it."""

    name: str
    thread: int
    start: float
    duration: float
    shapes: list[Any]
    types: list[str]
    concrete: list[str]


def step_events() -> list[_Event]:
    """The template: operators within a layer's range, and an all_reduce of gloo, asynchronous, after each layer."""
    events = []
    matrices = [[64, _WIDTH], [_WIDTH, _WIDTH], [_WIDTH]], ["float"] * 3, [""] * 3
    tensors = [[[_ELEMENTS]], [], [], [], [], []], ["TensorList", "", "", "", "Scalar", "Scalar"]
    for layer in range(_LAYERS):
        begin = 1000.0 * layer
        for index, name in enumerate(_OPERATORS):
            events.append(_Event(name, 1, begin + 100 * index, 90.0, *matrices))
            events.append(_Event(f"{name}_inner", 1, begin + 100 * index + 10, 60.0, *matrices))
        concrete = ["", "", "", "", "True", "-1"]
        events.append(_Event("c10d::allreduce_", 1, begin + 700, 50.0, *tensors, concrete))
        events.append(_Event("gloo:all_reduce", 2, begin + 710, 400.0, [[_ELEMENTS]], ["float"], [""]))
    return events


def timeline(steps: Iterator[int]) -> Iterator[str]:
    """Kineto's file, in pieces."""
    group = {"pg_name": "0", "pg_desc": "default_pg", "pg_size": 2, "ranks": [0, 1]}
    info = {"backend": "gloo", "rank": 0, "world_size": 2, "pg_config": [group]}
    head = {"schemaVersion": 1, "distributedInfo": info, "baseTimeNanoseconds": 10**18}
    yield json.dumps(head)[:-1] + ', "traceEvents": ['
    events = step_events()
    for step in steps:
        for index, event in enumerate(events):
            number = 1 + step * len(events) + index
            args = {"External id": number, "Record function id": number, "Input Dims": event.shapes}
            args |= {"Input type": event.types, "Concrete Inputs": event.concrete, "Sequence number": number}
            place = {"ph": "X", "cat": "cpu_op", "name": event.name, "pid": 7, "tid": event.thread}
            time = {"ts": event.start + 1000.0 * _LAYERS * step, "dur": event.duration}
            yield ("" if number == 1 else ",\n") + json.dumps(place | time | {"args": args})
    yield '], "traceName": ""}'


def execution_trace(steps: Iterator[int]) -> Iterator[str]:
    """The file of ExecutionTraceObserver, in pieces."""
    yield '{"schema": "1.1.1-chakra.0.0.4", "pid": 7, "time": "", "start_ts": 0, "nodes": ['
    group = json.dumps([{"pg_name": "0", "pg_desc": "default_pg", "ranks": [0, 1], "group_size": 2, "group_count": 1}])
    yield json.dumps(_node(1, "## process_group:init ##", [group], ["String"], 0))
    events = step_events()
    for step in steps:
        for index, event in enumerate(events):
            number = 1 + step * len(events) + index
            tensor = [number, number, 0, _ELEMENTS, 4, "cpu"]
            if event.name == "c10d::allreduce_":
                inputs: list[Any] = [[tensor], "<Object>", "<Object>", None, True, -1]
                types = ["GenericList[Tensor(float)]", "Object", "Object", "None", "Bool", "Int"]
            else:
                inputs, types = [tensor] * len(event.shapes), ["Tensor(float)"] * len(event.shapes)
            yield ",\n" + json.dumps(_node(number + 1, event.name, inputs, types, number, event.thread))
    yield '], "finish_ts": 1}'


def _node(
    number: int, name: str, inputs: list[Any], types: list[str], function: int, thread: int = 1
) -> dict[str, Any]:
    attributes = {"rf_id": function, "tid": thread, "fw_parent": 0, "seq_id": -1, "scope": 0, "op_schema": ""}
    return {
        "id": number,
        "name": name,
        "ctrl_deps": 1,
        "inputs": {"values": inputs, "shapes": [], "types": types},
        "outputs": {"values": inputs[:1], "shapes": [], "types": types[:1]},
        "attrs": [{"name": key, "type": type(value).__name__, "value": value} for key, value in attributes.items()],
    }


def write(path: Path, pieces: Callable[[Iterator[int]], Iterator[str]], num_steps: int) -> int:
    """Writes the file of so many steps; its bytes."""
    with atomic_write(path) as file:
        file.writelines(pieces(iter(range(num_steps))))
    return path.stat().st_size


def main() -> None:
    """Writes the profiles, imports them, prints what that took."""
    parser = command_line()
    parser.add_argument("--megabytes", type=int, nargs="+", default=[32, 256], help="sizes of Kineto's file")
    for megabytes in parser.parse_args().megabytes:
        with scratch_folder("bench") as name:
            device, host, out = (str(Path(name, file)) for file in ("device.0.json", "host.0.json", "out"))
            num_steps = max(1, round(megabytes * 10**6 / write(Path(device), timeline, 1)))
            sizes = [write(Path(device), timeline, num_steps), write(Path(host), execution_trace, num_steps)]
            print(
                f"{num_steps} steps, {num_steps * len(step_events())} events: Kineto {sizes[0] / 1e6:.0f} MB, ", end=""
            )
            print(f"execution trace {sizes[1] / 1e6:.0f} MB")
            for what, files in (("Kineto", [device]), ("both", [device, host])):
                used = run(["import", *files, "-o", out])
                print(f"  {what:8} {used.cpu:6.1f} s CPU {used.peak / 2**20:7.0f} MiB at most")


if __name__ == "__main__":
    main()
