"""What `hocket simulate` runs where nothing is said of algorithms: the machine's stock library."""

import json
import re
from functools import partial
from pathlib import Path

import in_process
import pytest

from hocket.api.simulate.request import Simulation
from hocket.api.sweep.execution import answer_rows
from hocket.nccl import NcclModel
from hocket.nccl.fitted_file import read_nccl_calibration
from hocket.topology.machines.loading import load_machine

hocket = partial(in_process.hocket, "simulate")
EXAMPLES = Path(__file__).parents[3] / "examples" / "traces"
TWO = "dgx-h100:nodes=2"
RING = "ring:8,bandwidth=50GB/s,latency=500ns"


def out(*arguments: object) -> str:
    done = hocket(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_collective_takes_the_time_of_the_library_s_model(tmp_path: Path) -> None:
    path = tmp_path / "curve.json"
    text = out("all_reduce", "-t", TWO, "-s", "8..1GiB:8", "--json", path)
    assert text.startswith("assumed: NCCL 2.30.7 on 2 x dgx-h100 of 8 GPUs, NVSwitches compute\n")
    rows = json.loads(path.read_text())["curves"][0]["rows"]
    model = NcclModel(load_machine("dgx-h100"), 2).choose("AllReduce", rows["size_bytes"])
    assert rows["time_ps"] == [round(1e6 * float(time)) for time in model.time_us]
    assert rows["used_algorithm"] == [f"NCCL's model {model.name(at)}" for at in range(len(model.bytes))]
    assert all(ratio >= 1 for ratio in rows["ratio"])


def saved(spec: str, path: Path) -> Path:
    done = in_process.hocket("topology", "save", spec, "-o", path)
    assert done.returncode == 0, done.stderr
    return path


def time_ps(folder: Path, *arguments: object) -> int:
    out(*arguments, "--json", folder / "prediction.json")
    return int(json.loads((folder / "prediction.json").read_text())["time_ps"])


def test_a_saved_topology_keeps_its_library_and_accelerator(tmp_path: Path) -> None:
    path = saved(TWO, tmp_path / "cluster.yaml")
    named, kept = (time_ps(tmp_path, "all_reduce", "-t", spec, "-s", "64MiB") for spec in (TWO, path))
    assert named == kept
    choose = [in_process.hocket("nccl", "choose", "-t", spec, "-c", "all_reduce").stdout for spec in (TWO, path)]
    assert choose[0] == choose[1] and "NVLSTree/Simple" in choose[0]
    made = in_process.hocket("generate", "llm", "llama3-8b", "-t", path, "--tp", 8, "--global-batch", 8, "-o", tmp_path)
    assert made.returncode == 0 and f"priced as h100 at bf16, as {path} has it" in made.stdout, made.stderr


def test_a_calibrated_topology_takes_the_times_of_its_calibration(tmp_path: Path) -> None:
    """As `nccl choose --calibration` tells them; beyond what was measured, those of the calibrated constants."""
    examples = Path(__file__).parents[3] / "examples" / "nccl"
    path, parameters = tmp_path / "made.yaml", tmp_path / "made.protocols.yaml"
    tables = [examples / "h100_1node.csv", examples / "h100_2nodes.csv"]
    made = in_process.hocket("calibrate", *tables, "-t", TWO, "--nccl", "dgx-h100", "-o", path)
    assert made.returncode == 0 and "\ncalibration: made.protocols.yaml\n" in path.read_text(), made.stderr
    fits, model = read_nccl_calibration(parameters), NcclModel(load_machine("dgx-h100"), 2)
    for size in (1 << 10, 1 << 21, 1 << 30):
        at = model.choose("AllReduce", [size])
        fitted = fits.times_us(model, "AllReduce", [size])[at.algorithm[0], at.protocol[0], 0]
        for spec in (path, f"{TWO},calibration={parameters}"):
            assert time_ps(tmp_path, "all_reduce", "-t", spec, "-s", size) == round(1e6 * fitted)
            assert f", calibrated by {parameters}" in out("all_reduce", "-t", spec, "-s", size).split("\n")[0]
    constants = NcclModel(load_machine("dgx-h100"), 2, constants=fits.constants)
    own = model.choose("Broadcast", [1 << 20]).name(0)
    term = next(one for one in constants.terms("Broadcast", 1 << 20) if f"{one.algorithm}/{one.protocol}" == own)
    assert time_ps(tmp_path, "broadcast", "-t", path, "-s", "1MiB") == round(1e6 * term.time_us)
    choose = in_process.hocket("nccl", "choose", "-t", path, "-c", "all_reduce").stdout
    assert "  calibrated  8 B .. 128 KiB" in choose
    alone = tmp_path / "alone" / "made.yaml"
    alone.parent.mkdir()
    path.rename(alone)
    assert "no such file beside this one" in hocket("all_reduce", "-t", alone, "-s", "1MiB").stderr
    done = hocket("all_reduce", "-t", f"{TWO},calibration=none.yaml", "-s", "1MiB")
    assert "calibration=none.yaml: no such file" in done.stderr


def test_switches_of_a_file_compute_as_those_of_its_machines(tmp_path: Path) -> None:
    """The lower bound is that of NVSwitches that add, however the machines are named."""
    xml, kept = saved("dgx-h100", tmp_path / "m.xml"), saved(TWO, tmp_path / "kept.yaml")
    spec, machines = tmp_path / "spec.yaml", tmp_path / "machines.yaml"
    spec.write_text(f"spec: {TWO}\n")
    machines.write_text("machines: [dgx-h100, dgx-h100]\n")
    for files, named in (([xml], f"nccl:{xml}"), ([kept, spec, machines], TWO)):
        for path in files:
            of_file, of_name = (out("all_reduce", "-t", each, "-s", "64MiB").split("\n") for each in (path, named))
            assert of_file[4].startswith("  bound ") and of_file[4] == of_name[4]
            assert ", NVSwitches compute" in of_file[0]
    spec.write_text(f"spec: '{TWO},nvls=0'\n")
    assert "compute" not in out("all_reduce", "-t", spec, "-s", "64MiB").split("\n")[0]


def test_nvls_0_turns_nvls_off_in_the_model() -> None:
    assert "takes NVLSTree" in out("all_reduce", "-t", TWO, "-s", "64MiB")
    assert "takes NVLS" not in out("all_reduce", "-t", f"{TWO},nvls=0", "-s", "64MiB")
    said = out("all_reduce", "-t", f"{TWO},nvls=0", "-s", "64MiB", "--nccl-set", "NCCL_NVLS_ENABLE=1")
    assert "takes NVLSTree" in said
    assert "NVLS" not in in_process.hocket("nccl", "choose", "-t", f"{TWO},nvls=0", "-c", "all_reduce").stdout


def test_a_graph_alone_has_no_choices_of_nccl() -> None:
    assert "a graph alone, which does not say" in in_process.hocket("nccl", "choose", "-t", RING).stderr


def test_none_gives_the_pure_network() -> None:
    pure, auto = (
        out("all_reduce", "-t", TWO, "-s", "64MiB", *more) for more in (["--library", "none"], ["--algorithm", "auto"])
    )
    assert pure.startswith("assumed: no library, as asked")
    assert pure.split("\n", 1)[1] == auto


def test_networks_without_a_modelled_library_say_so() -> None:
    assert out("all_reduce", "-t", RING, "-s", "1MiB").startswith(
        "assumed: no library (the topology is of no single kind"
    )
    several = out("all_reduce", "-t", "mi300x:nodes=2", "-s", "1MiB")
    assert several.startswith("assumed: no library (RCCL 2.28.3: its model's times are of one node): ")
    assert "16 GPUs of gfx90a: RCCL's choices are modelled of 8" in out("all_reduce", "-t", "mi250", "-s", "1MiB")


def test_lower_bounds_are_of_no_library() -> None:
    text = out("all_reduce", "-t", TWO, "-s", "1MiB", "--model", "bound")
    assert "each collective takes its lower bound" in text and "chunk by chunk" not in text and "it takes" not in text


def test_gpus_that_are_no_whole_trays_are_refused_and_not_answered_by_the_network_alone() -> None:
    """Without NCCL's costs the time would be 6 times too short."""
    refused = hocket("all_reduce", "-t", "gb200-nvl72:gpus=7", "-s", "1MiB")
    assert refused.returncode == 3 and refused.stderr.count("\n") == 1
    assert "trays have 4 GPUs each: say gpus=1 to 4, or a multiple of it; or --library none" in refused.stderr
    assert out("all_reduce", "-t", "gb200-nvl72:gpus=7", "-s", "1MiB", "--library", "none")
    for gpus in (3, 8):
        assert "assumed: NCCL" in out("all_reduce", "-t", f"gb200-nvl72:gpus={gpus}", "-s", "1MiB")


def test_rccl_takes_the_time_of_its_model() -> None:
    """A public run of rccl-tests on 8 MI300X took 91.1 us for 8 MiB (docs/nccl-model.md)."""
    text = out("all_reduce", "-t", "mi300x", "-s", "8MiB")
    assert text.startswith("assumed: RCCL 2.28.3 on mi300x of 8 GPUs; what its model has no time of: native algorithms")
    assert "time                   90.09 us" in text
    curve = out("all_reduce", "-t", "mi300x", "-s", "1KiB..1GiB:1024")
    assert "RCCL's model Ring/LL" in curve and "RCCL's model Ring/Simple" in curve
    direct = out("all_gather", "-t", "mi300x", "-s", "1MiB")  # RCCL's model has no time of it
    on_links = out("all_reduce", "-t", "mi300x", "-s", "8MiB", "--model", "flow")
    assert "RCCL's model" not in direct + on_links


@pytest.mark.parametrize("option", [["--degrade", "npu:3=0.5"], ["--model", "flow"], ["--routing", "ecmp"]])
def test_what_is_asked_of_links_runs_chunk_by_chunk(option: list[str]) -> None:
    text = out("all_reduce", "-t", TWO, "-s", "16MiB", *option)
    assert "chunk by chunk on the links: about" in text and "NCCL NVLSTree/Simple" in text


def test_messages_take_a_launch_and_a_step(tmp_path: Path) -> None:
    path, times = tmp_path / "prediction.json", []
    for more in (["--algorithm", "direct"], []):
        out("all_to_all", "-t", "dgx-b200", "-s", "1KiB", "--json", path, *more)
        times.append(json.loads(path.read_text())["time_ps"])
    assert times[1] - times[0] == 6_600_000 + 600_000  # LL: launch, and a step over NVLink


def test_a_job_is_simulated_chunk_by_chunk_while_it_is_small(tmp_path: Path) -> None:
    for size, way in (("1MiB", "chunk by chunk on the links"), ("64GiB", "more than 1,048,576")):
        traces = tmp_path / size
        done = in_process.hocket("generate", "collective", "all_reduce", "--ranks", 16, "--size", size, "-o", traces)
        assert done.returncode == 0, done.stderr
        assert way in out(traces, "-t", TWO)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-t", TWO, "--library", "none", "--algorithm", "nccl"], "--library none runs no library"),
        (["-t", TWO, "--library", "none", "--nccl-set", "NCCL_ALGO=Ring"], "--library none runs no library"),
        (["-t", TWO, "--library", "nccl", "--algorithm", "ring"], "drop one of them"),
        (["-t", TWO, "--chunks", "2"], "--chunks 2 is for native algorithms"),
        (["-t", RING, "--library", "nccl"], "does not say what NCCL would see"),
        (["-t", TWO, "--library", "rccl"], "rccl"),
    ],
)
def test_what_contradicts_the_library_is_refused(arguments: list[str], message: str) -> None:
    done = hocket("all_reduce", "-s", "1MiB", *arguments)
    assert done.returncode in (2, 3)
    assert message in " ".join(done.stderr.split())


@pytest.mark.parametrize("kind", ["broadcast", "reduce"])
def test_bounds_of_a_library_s_collectives_are_in_pieces(kind: str, tmp_path: Path) -> None:
    # Whole, 64 MiB take 1.344 ms through a NIC of 50 GB/s; in pieces through all eight of a node an eighth of that.
    path = tmp_path / "p.json"
    out(kind, "-t", TWO, "-s", "64MiB", "--json", path)
    prediction = json.loads(path.read_text())
    assert not prediction["below_bound"]
    assert prediction["bound_ps"] < 170_000_000 < prediction["time_ps"]


def test_an_oversubscribed_fabric_is_felt() -> None:
    spec = f"{TWO},fabric=fat_tree,leaf=1,oversubscription=8"
    text = out("all_reduce", "-t", spec, "-s", "64MiB")
    assert "chunk by chunk on the links: about" in text
    assert "NOT PHYSICAL" not in text
    # What the model says without them stands beside, for one size and for several, whose messages make one line.
    model = re.search(r"time  +(.*)", out("all_reduce", "-t", TWO, "-s", "64MiB"))[1]
    assert f"note: NCCL's model, which knows no links: {model} at 64 MiB" in text
    curve = out("all_reduce", "-t", spec, "-s", "1MiB..64MiB:64")
    assert re.search(f"NCCL's model, which knows no links: .* at 1 MiB, {model} at 64 MiB", curve)
    assert len(re.findall(r"chunk by chunk on the links: about [\d,]+ to [\d,]+ messages", curve)) == 1


def test_links_of_a_file_are_felt_as_those_of_its_spec(tmp_path: Path) -> None:
    spec, path = f"{TWO},fabric=fat_tree,leaf=1,oversubscription=8", tmp_path / "cluster.yaml"
    path.write_text(f"spec: {spec}\n")
    times = [re.search(r"time  .*", out("all_reduce", "-t", each, "-s", "64MiB"))[0] for each in (spec, path)]
    assert times[0] == times[1] == "time                   1.392 ms"  # 17 us more than the messages alone: its model


def test_a_default_that_is_said_again_changes_nothing() -> None:
    plain, again = (out("all_reduce", "-t", spec, "-s", "64KiB") for spec in (TWO, f"{TWO},latency=700ns"))
    assert plain.splitlines()[3] == again.splitlines()[3]


def test_links_that_are_asked_about_are_felt_by_large_jobs_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hocket.simulator.api.MOST_MESSAGES", 1000)
    job = tmp_path / "job"
    made = in_process.hocket("generate", "collective", "all_reduce", "-t", TWO, "--size", "64MiB", "-o", job)
    assert made.returncode == 0, made.stderr
    assert "more than 1,000" in out(job, "-t", TWO)
    asked = out(job, "-t", TWO, "--degrade", "npu:3=0.1")
    assert "chunk by chunk on the links: about" in asked
    assert "up to 4,194,304" in asked


def test_a_library_that_is_not_modelled_launches_too(tmp_path: Path) -> None:
    path, times = tmp_path / "p.json", []
    for more in ([], ["--library", "none"]):
        out("all_reduce", "-t", "mi300x:nodes=2", "-s", "8B", "--json", path, *more)
        times.append(json.loads(path.read_text())["time_ps"])
    assert times[0] - times[1] == 6_600_000
    assert "each after the launch of a kernel as of NCCL's, 6.6 us" in out(
        "all_reduce", "-t", "mi300x:nodes=2", "-s", "8B"
    )


def test_schedules_made_for_a_machine_run_where_its_switches_compute(tmp_path: Path) -> None:
    schedule = tmp_path / "ar.schedule"
    made = in_process.hocket("synthesize", "all_reduce", "-t", "dgx-h100:gpus=4", "-s", "4MiB", "-o", schedule)
    assert made.returncode == 0, made.stderr
    text = out(EXAMPLES, "-t", "dgx-h100:gpus=4", "--algorithm", f"all_reduce={schedule}")
    assert "ar.schedule" in text


def test_two_machines_are_not_compared_without_a_word(tmp_path: Path) -> None:
    """A job priced by one machine's GPUs keeps its times on another: every comparison says so."""
    job, files = tmp_path / "job", [tmp_path / "first.json", tmp_path / "second.json"]
    options = ["--dp", "8", "--global-batch", "8", "--sequence", "128"]
    made = in_process.hocket("generate", "llm", "llama2-7b", "-t", "dgx-h100", *options, "-o", job)
    assert made.returncode == 0, made.stderr
    for machine, path in zip(("dgx-h100", "dgx-b200"), files, strict=True):
        out(job, "-t", machine, "--json", path)
    assert "is priced as h100" not in out(job, "-t", "dgx-h100")
    compared = in_process.hocket("compare", *files).stdout
    assert compared.count("assumed: NCCL 2.30.7 on dgx-") == 2
    assert compared.count("is priced as h100") == 1
    both = out(job, "-t", "dgx-h100", "-t", "dgx-b200")
    assert both.count("is priced as h100") == 1
    assert "is priced as h100" in next(line for line in both.splitlines() if line.startswith("  note of dgx-b200"))
    rows = [Simulation.of(str(job), machine) for machine in ("dgx-h100", "dgx-b200")]
    columns = answer_rows(rows)
    assert ["is priced as h100" in each for each in columns["notes"].tolist()] == [False, True]
    assert all(each.startswith("NCCL 2.30.7 on dgx-") for each in columns["assumed"].tolist())


def test_a_calibration_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "fitted.yaml"
    path.write_text("format: hocket.calibration\nversion: 99\ncurves: []\nlevels: []\n")
    done = hocket("all_reduce", "-t", f"{TWO},calibration={path}", "-s", "1MiB")
    assert done.returncode == 3
    assert f"{path}:1: expected format hocket.calibration, version 1 to 3" in done.stderr


def test_a_release_that_another_stands_for_is_said_and_one_that_is_none_is_a_wrong_request() -> None:
    asked = ("all_reduce", "-t", TWO, "-s", "1MiB", "--nccl-version")
    assert "assumed: NCCL 2.32 is not public in source: taken for 2.31" in out(*asked, "2.32")
    assert "not public" not in out(*asked, "2.30.7")
    refused = hocket(*asked, "9.9")
    choice = in_process.hocket("nccl", "choose", "-t", TWO, "-c", "all_reduce", "--nccl-version", "9.9")
    assert refused.returncode == choice.returncode == 2
    assert "--nccl-version 9.9: NCCL 9.9 is not modelled" in refused.stderr and "is not modelled" in choice.stderr


@pytest.mark.parametrize("topology", ["dgx-h100:nodes=2", "dgx-b200:nodes=2", "dgx-a100:nodes=3"])
@pytest.mark.parametrize("kind", ["all_reduce", "all_gather"])
def test_slower_links_are_never_quicker(topology: str, kind: str) -> None:
    for size in ("32KiB", "16MiB"):
        times = []
        for options in ({}, {"degrade": ["nic:0.2=0.9"]}, {"degrade": ["nic:0.2=0.3"]}, {"degrade": ["nic:0.2=0.1"]}):
            (found,) = Simulation.of(kind, topology, size, **options).perform().predictions
            times.append(found.time_ps)
        assert times == sorted(times), (size, times)
    assert times[-1] > 1.5 * times[0], "whatever the ranks divide"


def test_what_no_program_is_known_for_says_that_links_are_not_felt() -> None:
    result = Simulation.of("all_reduce", "gb200-nvl72:nodes=2", "64MiB", degrade=["nic:0.0=0.01"]).perform()
    assert "feels nothing that is asked of links: NCCL takes the 36 nodes for 2" in result.summary()
