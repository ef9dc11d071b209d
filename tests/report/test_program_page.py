"""The page of a judged MSCCL XML, in words and in a browser."""

from pathlib import Path
from typing import Any

from hocket.report.program_page import program_page
from hocket.translator import judge, read_document

STEP = '<step s="{}" type="{}" srcbuf="i" srcoff="{}" dstbuf="s" dstoff="{}" cnt="1" depid="-1" deps="-1" hasdep="0"/>'
RANKS = 4


def head_to_head() -> str:
    """Every rank sends three chunks to the next before it takes any: the third finds no slot (Simple: 2)."""
    steps = "".join(STEP.format(at, "s" if at < 3 else "r", at % 3, at % 3) for at in range(6))
    gpus = "".join(
        f'<gpu id="{rank}" i_chunks="3" o_chunks="3" s_chunks="3"><tb id="0" send="{(rank + 1) % RANKS}" '
        f'recv="{(rank - 1) % RANKS}" chan="0">{steps}</tb></gpu>'
        for rank in range(RANKS)
    )
    head = f'name="x" proto="Simple" nchannels="1" nchunksperloop="3" ngpus="{RANKS}" coll="custom" inplace="0"'
    return f"<algo {head}>{gpus}</algo>"


def test_a_deadlock_is_drawn_as_its_cycle(browser: Any, tmp_path: Path) -> None:
    page = program_page("ring.xml", [judge(read_document(head_to_head(), "x"), "msccl")])
    assert page.count("waits for free slot</text>") == RANKS
    (tmp_path / "page.html").write_text(page)
    tab = browser.new_page()
    problems: list[str] = []
    tab.on("pageerror", lambda error: problems.append(str(error)))
    tab.goto(f"file://{tmp_path / 'page.html'}")
    # one lane a rank: its label is the only text that begins so
    assert tab.locator("svg text", has_text="thread block 0").count() == RANKS
    assert tab.locator('svg rect[stroke="#c8321e"]').count() == RANKS
    assert tab.locator("section").count() == 2
    assert not problems
    tab.close()


def test_what_is_no_program_has_a_page_too() -> None:
    page = program_page("x.xml", [judge(read_document("<?xml version='1.0'?><algo/>", "x"), "rccl")])
    assert "an XML declaration" in page
    assert "not a program" in page
