"""Recorded runs of ASTRA-sim: finish and exposed cycles of every rank, through the command; and rows of its sweeps."""

import json
from pathlib import Path

import pytest
from in_process import hocket

from hocket.bench.astra_sim_equality import agrees, predict, rows_of

FOLDERS = [
    "a_ag_torus4x4_1MiB",
    "a_ar_switch8_1MiB",
    "b_oneRing_48to1_n16_100MiB",
    "b_rr_48to1_n16_100MiB_baseline",
    "b_rr_48to1_n16_100MiB_localBWAware",
    "c_torus2x8x4_4q_4MiB",
    "custom_collective_ring8_aware",
    "custom_collective_ring8_unaware",
    "d_dims01_unaware_RingxSwitch",
    "d_dp_unaware_RingxSwitch",
    "d_mem_unaware_RingxSwitch",
    "d_pp_unaware_Ring",
    "d_shift_aware_Ring",
    "d_two_unaware_RingxSwitch",
    "e_ar_dbt_switch16_aware_ac4",
    "e_ar_hd_ring8_aware",
    "rt_template",
]
SWEEPS = ["a_seed000", "b_seed001", "b_seed001_extra", "c_seed002", "e_congestion_aware"]
MOST_RANKS = 64  # of a sampled row: the test is quick


@pytest.mark.shared
@pytest.mark.parametrize("name", FOLDERS)
def test_every_rank_of_a_recorded_run(shared: Path, tmp_path: Path, name: str) -> None:
    folder = shared / "astra_sim" / "inputs" / name
    expected = json.loads((folder / "expected.json").read_text())
    model = {"unaware": "analytical", "aware": "congestion"}[expected["backend"]]
    assert expected["extra_args"] == [] and not expected["comm_group"]
    out = tmp_path / "out.json"
    command = ["simulate", folder / expected["workload_prefix"], "--compat", "astra-sim", "--model", model]
    command += ["--json", out, "--memory", folder / "mem.json"]
    command += ["--network", folder / "network.yml", "--system", folder / "system.json"]
    command += ["--num-queues-per-dim", expected["num_queues_per_dim"]]
    done = hocket(*command, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    result = json.loads(out.read_text())
    assert result["finish_ns"] == expected["finish_cycles"]
    assert result["exposed_ns"] == expected["exposed_cycles"]


@pytest.mark.shared
@pytest.mark.parametrize("sweep", SWEEPS)
def test_rows_of_a_recorded_sweep(shared: Path, sweep: str) -> None:
    rows = [row for row in rows_of(shared / "astra_sim" / f"{sweep}.csv") if int(row["n"]) <= MOST_RANKS]
    sample = rows[:: max(1, len(rows) // 40)]
    assert len(sample) >= 40
    wrong = [row for row in sample if not agrees(row, predict(row))]
    assert not wrong


@pytest.mark.shared
def test_artefacts_of_the_published_sweep_are_named_with_their_size(shared: Path, tmp_path: Path) -> None:
    folder = shared / "astra_sim" / "inputs" / "b_oneRing_48to1_n16_100MiB"
    files = ["--network", folder / "network.yml", "--system", folder / "system.json"]
    done = hocket("simulate", folder / "w", "--compat", "astra-sim", *files)
    # One ring over 8x2 ranks: of 16 hops, 7 -> 8 and 15 -> 0 change both coordinates; 2 * 15 steps, 64 chunks.
    assert "3840 of 30720 messages cross several dimensions" in done.stdout  # 2 * 30 * 64 of 16 * 30 * 64
    # Each is 100 MiB / 64 / 16 = 102400 B, and left out are 2000 ns + 102400 B / (12.5 * 2^30 / 1e9 B/ns) = 9629 ns.
    assert "9629 ns each in the mean, 36975360 ns in all" in done.stdout
    # These 3840 messages on the 16 links of dimension 1: 3840 * 102400 / 16 / 13.42 = 1831055 ns, of 1467520.
    assert "NOT PHYSICAL: dimension 1 (Ring of 2) needs at least 1831055 ns" in done.stdout
