"""`hocket nccl choose --buffers`, `--cta-policy`, and the channels that are launched."""

import csv
from pathlib import Path

from in_process import hocket


def choose(*more: object) -> str:
    done = hocket("nccl", "choose", "-t", "dgx-h100", "-c", "all_gather", *more)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_fewer_channels_are_launched_than_tuned(tmp_path: Path) -> None:
    choose("--min", "1MiB", "--max", "1MiB", "--csv", tmp_path / "choices.csv")
    with open(tmp_path / "choices.csv", encoding="utf-8") as file:
        (row,) = csv.DictReader(file)
    assert (row["nchannels"], row["launched"]) == ("24", "22")  # NCCL's own run: tests/data/nccl_runs


def test_symmetric_windows(tmp_path: Path) -> None:
    output = tmp_path / "choices.csv"
    text = choose("--buffers", "symmetric", "--csv", output)
    assert "symmetric   8 B .. 64 KiB        AllGather_LLMC" in text
    with open(output, encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert (rows[0]["symmetric"], rows[0]["blocks"]) == ("AllGather_LLMC", "1")
    assert "copy engines" in choose("--buffers", "symmetric", "--cta-policy", "zero")
    of_blackwell = hocket("nccl", "choose", "-t", "dgx-b200", "-c", "all_gather", "--buffers", "symmetric").stdout
    assert "512 MiB .. 16 GiB    copy engines" in of_blackwell  # more than 8 Mi elements of each of 8 ranks


def test_registered_buffers_take_few_channels_of_nvls() -> None:
    text = choose("--buffers", "registered", "--cta-policy", "efficiency")
    assert "128 KiB .. 16 GiB    NVLS/Simple" in text and "channels 4..4" in text


def test_what_does_not_go_together_is_refused() -> None:
    for more, why in (
        (["--cta-policy", "zero"], "without --buffers symmetric"),
        (["--buffers", "symmetric", "--cta-policy", "efficiency"], "without --buffers registered"),
        (["--buffers", "symmetric", "--cta-policy", "zero", "--nccl-version", "2.27"], "NCCL 2.27 has none"),
        (["--buffers", "symmetric", "--nodes", "2"], "goes by GIN, which is not modelled"),
        (["--buffers", "registered", "--pipe-ops", "2"], "groups are modelled of plain buffers"),
    ):
        done = hocket("nccl", "choose", "-t", "dgx-h100", *more)
        assert done.returncode != 0 and why in " ".join(done.stderr.split()), done.stderr
