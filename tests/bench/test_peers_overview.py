"""`hocket bench peers` without cases: what each peer can do, and figures measured beside or recorded."""

import json
import re
import sys
from collections import Counter
from functools import partial
from pathlib import Path

import in_process
import pytest

from hocket.base.errors import HocketError
from hocket.bench.peers.features import FEATURES, TOOLS
from hocket.bench.peers.figures import PeerProblem, PeerPrograms, recorded_figures
from hocket.bench.peers.overview import figures_of
from hocket.bench.peers.overview_page import page_lines
from hocket.bench.peers.schedulers import scheduler_problems
from hocket.bench.peers.simulators import simulator_problems

hocket = partial(in_process.hocket, "bench", "peers")
PEERS_PAGE = Path(__file__).parents[2] / "docs" / "peers.md"
BEGIN, END = "<!-- hocket bench peers -->\n", "<!-- end of hocket bench peers -->\n"


def problem(name: str) -> PeerProblem:
    return next(each for each in (*simulator_problems(), *scheduler_problems()) if each.name == name)


def program(path: Path, code: str) -> Path:
    path.write_text(f"#!{sys.executable}\n{code}\n")
    path.chmod(0o755)
    return path


def test_all_peers_stand_there_with_figures_or_why_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOCKET_NS3", str(tmp_path))  # no ns-3 there: its figures are the recorded ones
    kept, page = tmp_path / "peers.json", tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}stale\n{END}after\n")
    done = hocket("--json", str(kept), "--page", str(page))
    assert done.returncode == 0, done.stderr
    content = json.loads(kept.read_text())
    table = content["tables"]["figures"]
    rows = [dict(zip(table, values, strict=True)) for values in zip(*table.values(), strict=True)]
    peers = {tool["name"] for tool in content["tools"]} - {"Hocket"}
    assert {row["peer"] for row in rows} == peers and len(peers) == 8
    for row in rows:
        assert row["source"], row
        assert (row["state"] == "none") == (row["ratio"] is None), row
        assert row["state"] != "recorded" or (row["machine"] and row["date"]), row
    by_peer = Counter((row["peer"], row["state"]) for row in rows)
    assert by_peer["ASTRA-sim", "recorded"] == 6 and by_peer["ns-3", "recorded"] == 2
    assert by_peer["Chakra tools", "measured"] == 1 and by_peer["htsim", "none"] == 1
    # The predictions are those of ASTRA-sim, NCCL and ns-3; no schedule is slower than TACOS'.
    ratios = [(row["peer"], row["ratio"]) for row in rows if row["quantity"] == "predicted time, s" and row["ratio"]]
    assert len(ratios) == 3 + 3 + 1 and all(ratio == pytest.approx(1, rel=4e-4) for _, ratio in ratios), ratios
    schedules = [row["ratio"] for row in rows if row["quantity"].startswith("time of the schedule")]
    assert len(schedules) == 4 and min(schedules) > 0.999999
    text = page.read_text()
    assert text.startswith(f"before\n{BEGIN}| tool |") and text.endswith(f"\n{END}after\n") and "stale" not in text
    assert text.count("\n| ASTRA-sim |") == 2 + 6


def test_facts_have_a_version_a_date_and_a_source() -> None:
    assert all(len(tool.can) == len(FEATURES) for tool in TOOLS)
    assert all((tool.version, tool.date, tool.licence, tool.source) for tool in TOOLS)


def test_every_recorded_figure_is_of_a_problem() -> None:
    problems = {each.name for each in (*simulator_problems(), *scheduler_problems())}
    assert {name for name, _ in recorded_figures()} <= problems


def test_the_page_has_the_facts_of_today() -> None:
    part = PEERS_PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0].splitlines()
    facts = list(page_lines((), "", ""))
    facts = facts[: facts.index("", facts.index("") + 1)]
    assert part[: len(facts)] == facts, "run `hocket bench peers --page docs/peers.md`"
    assert {row.split(" | ")[0][2:] for row in part if "recorded 2026" in row} >= {"ASTRA-sim", "TACOS", "htsim"}


def test_astra_sim_is_run_beside(tmp_path: Path) -> None:
    """By its program, or the folder of its programs; what it says is the figure."""
    code = (
        "import sys\nfiles = dict(word[2:].split('=', 1) for word in sys.argv[1:])\n"
        "assert open(files['network-configuration']).read().startswith('topology: [Ring]\\nnpus_count: [256]')\n"
        "for rank in range(256): print(f'sys[{rank}] finished, {84217850 - rank} cycles, exposed')"
    )
    name = "AstraSim_Analytical_Congestion_Unaware"
    for path in (program(tmp_path / name, code), tmp_path):
        seconds, time = figures_of(problem("ring of 256"), PeerPrograms(astra_sim=path))
        assert (seconds.state, time.state) == ("measured", "measured")
        assert time.theirs == pytest.approx(84_217_850e-9, rel=1e-12) and time.ratio == pytest.approx(2)
        assert seconds.theirs is not None and 0 < seconds.theirs < 10


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("print('sys[0] finished, 5 cycles')", "1 of 256 ranks finished"),
        ("import sys; sys.exit('no such option')", "ended with 1: 'no such option'"),
        ("import time; time.sleep(60)", "was not done in 0.3 s"),
        (None, "cannot be run: No such file or directory"),
    ],
)
def test_an_astra_sim_that_says_nothing_is_an_error(tmp_path: Path, code: str | None, said: str) -> None:
    path = tmp_path / "astra" if code is None else program(tmp_path / "astra", code)
    limit_s = 0.3 if "not done" in said else 60
    with pytest.raises(HocketError, match=re.escape(said)):
        list(figures_of(problem("ring of 256"), PeerPrograms(astra_sim=path, limit_s=limit_s)))


def test_tacos_claims_no_schedule_where_links_differ(tmp_path: Path) -> None:
    driver = program(tmp_path / "driver", "print(1000.0, 0.5)")
    programs = PeerPrograms(tacos=driver)
    seconds, schedule = figures_of(problem("dragonfly 4x5 in 8 chunks"), programs)
    assert (seconds.state, seconds.theirs, schedule.state) == ("measured", 0.5, "recorded")
    _, schedule = figures_of(problem("mesh 10x10"), programs)
    assert (schedule.state, schedule.theirs) == ("measured", 1e-3)


def test_bad_input(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("no markers\n")
    done = hocket("--page", str(page))
    assert done.returncode == 3 and "expected the lines `<!-- hocket bench peers -->`" in done.stderr
    assert page.read_text() == "no markers\n"
    done = hocket("--only", "tacos", "--astra-sim", str(tmp_path))
    assert done.returncode == 2 and "--page and --astra-sim are of all peers" in done.stderr
