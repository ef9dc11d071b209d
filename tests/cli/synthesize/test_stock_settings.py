"""The tuner table of a bundle: stock NCCL's settings that are quicker than its own choice where no program is."""

import json
from functools import partial
from pathlib import Path

import in_process
import numpy as np
import pytest
from browsing import text_of

from hocket.base.units import format_time
from hocket.nccl.names import ALGORITHMS, COLLECTIVES, PROTOCOLS
from hocket.nccl.tuning.table import CommunicatorRules, read_tuner_table
from hocket.translator.bundle import read_bundle

#: Its NICs say 75 us, by which NCCL chooses, and take 23 by LL and LL128.
TOLD = "p5:nodes=2"
#: Trees cross the switch of a node half as often as rings.
OVERSUBSCRIBED = "dgx-a100:nodes=2,gpus=4,fabric=fat_tree,leaf=1,oversubscription=8"
hocket = in_process.hocket
synthesize = partial(hocket, "synthesize", "all_reduce", "--engine", "native:ring")


def predicted_ps(*words: str) -> int:
    done = hocket("simulate", "all_reduce", *words, "--json", "-")
    assert done.returncode == 0, done.stderr
    return int(json.loads(done.stdout)["time_ps"])


def test_a_quicker_setting_is_a_rule_that_the_plugin_takes_and_everything_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "b"
    asked = ("-t", TOLD, "-s", "32MiB..128MiB:2", "--for", "executor", "-o", str(folder))
    for _ in range(2):  # the second takes the first's place
        written = ("--json", str(tmp_path / "told.json"), "--report", str(tmp_path / "told.html"))
        done = synthesize(*asked, "--explain", *written)
        assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["README.md", "bundle.json", "tuner.csv"]
    told = json.loads((tmp_path / "told.json").read_text())
    own = {row["size_bytes"]: row["stock"] for row in told["rows"]}
    bundle = read_bundle(folder)
    (rule,) = bundle.tuned
    (at,) = (one for one in rule.predicted if one.size_bytes == 64 << 20)
    assert (at.own, at.own_ps) == (own[64 << 20]["algorithm"], own[64 << 20]["time_ps"])
    assert at.time_ps == predicted_ps("-t", TOLD, "-s", "64MiB", "--algorithm", f"nccl-model:{rule.algorithm.lower()}")
    assert all(one.time_ps < 0.99 * one.own_ps for one in rule.predicted)
    assert told["tuned"][0]["algorithm"] == rule.algorithm == "Ring/LL128"
    assert "tuner.csv: from" in done.stdout and "stock NCCL takes Ring/LL128: 552.6 us at 64 MiB" in done.stdout
    assert "552.6 us  1.000x  stock library  Ring/LL128 (tuner.csv)" in done.stdout  # --explain
    page = text_of((tmp_path / "told.html").read_text().replace("</td>", " "))
    assert f"Ring/LL128 64 MiB 552.6 us {at.own} {format_time(at.own_ps)}" in page
    assert told["headline"].endswith(": no size at which a program is known to be quicker than the stock library")
    assert "hocket nccl env --table tuner.csv" in (folder / "README.md").read_text()
    # the plugin's own parser and choice
    checked = hocket("nccl", "tuner", "check", str(folder / "tuner.csv"), "--nodes", "2", "--ranks", "16")
    assert checked.returncode == 0 and "1 rules, 0 constants, 0 errors, 0 warnings" in checked.stdout
    assert "Ring/LL128 (line 3)" in checked.stdout
    explained = partial(hocket, "explain", str(folder), "-c", "all_reduce", "-n", "16", "--runtime", "executor", "-s")
    assert "note: stock NCCL takes Ring/LL128 where its tuner plugin" in explained("64MiB").stdout
    assert "note" not in explained("32MiB").stdout


def test_slower_links_are_what_other_settings_cross_less(tmp_path: Path) -> None:
    asked = ("-t", OVERSUBSCRIBED, "-s", "64MiB", "-o", str(tmp_path / "b"), "--for")
    done = synthesize(*asked, "executor")
    assert done.returncode == 0, done.stderr
    (rule,) = read_bundle(tmp_path / "b").tuned
    (at,) = rule.predicted
    assert (rule.algorithm, at.own) == ("Tree/LL128", "Ring/Simple")
    # at least what its messages take on these links, and what the model says and they take longer than by name
    on_links = partial(predicted_ps, "-s", "64MiB", "--algorithm")
    by_name = OVERSUBSCRIBED.removesuffix(",oversubscription=8")
    model = on_links("nccl-model:tree/ll128", "-t", by_name)
    longer = on_links("nccl:tree/ll128", "-t", OVERSUBSCRIBED) - on_links("nccl:tree/ll128", "-t", by_name)
    assert at.time_ps == max(model + longer, on_links("nccl:tree/ll128", "-t", OVERSUBSCRIBED)) < at.own_ps
    # msccl is a fork of an NCCL that loads no tuners
    done = synthesize(*asked[:-2], str(tmp_path / "c"), "--for", "msccl")
    assert done.returncode == 0 and "nothing was written" in done.stdout, done.stdout + done.stderr
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize("size", ["1MiB", "256MiB"])
def test_by_its_model_alone_nothing_is_quicker_than_what_nccl_takes(tmp_path: Path, size: str) -> None:
    done = synthesize("-t", "dgx-h100:nodes=2", "-s", size, "--for", "executor", "-o", str(tmp_path / "b"))
    assert done.returncode == 0 and "tuner.csv" not in done.stdout, done.stderr
    assert not (tmp_path / "b" / "tuner.csv").exists()


def test_sizes_that_programs_serve_have_no_rule(tmp_path: Path) -> None:
    """A ring by Hocket's kernel wins at both ends of the range, and stock NCCL between them."""
    done = synthesize("-t", OVERSUBSCRIBED, "-s", "64KiB..64MiB:32", "--for", "device", "-o", str(tmp_path / "b"))
    assert done.returncode == 0, done.stderr
    bundle = read_bundle(tmp_path / "b")
    assert bundle.files and bundle.tuned and "programs and tuner.csv" in done.stdout
    for file in bundle.files:
        assert all(one.min_bytes > file.max_bytes or one.max_bytes < file.min_bytes for one in bundle.tuned)
    table = CommunicatorRules(read_tuner_table(tmp_path / "b" / "tuner.csv"), 2, 8, None)
    every = np.ones(21, np.float32)
    (all_reduce,) = (at for at, name in enumerate(COLLECTIVES) if name == "AllReduce")
    for one in bundle.tuned:  # by the plugin's own code
        _, algorithm, protocol, channels, _ = table.choose(all_reduce, one.max_bytes, 1, 0, every)
        assert f"{ALGORITHMS[algorithm]}/{PROTOCOLS[protocol]}" == one.algorithm and channels == 0
        assert table.choose(all_reduce, one.max_bytes + 1, 1, 0, every)[0] < 0
