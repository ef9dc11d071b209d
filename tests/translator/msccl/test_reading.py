"""MSCCL XML in and out: the runtimes' own verdicts on probe files, round trips, errors that name the place."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket.base.errors import FormatError, HocketError, ScheduleError
from hocket.schedule import Gpu, Kind, Program, Step, StepType, ThreadBlock, execute
from hocket.translator import from_xml, judge, read_document, read_xml, to_xml

DATA = Path(__file__).parents[2] / "data" / "msccl_xml"
GOLDEN = sorted(DATA.glob("*.xml"))
TEXT = (DATA / "broadcast_binomial_8.xml").read_text()


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_golden_programs_survive_the_round_trip_and_are_right(path: Path) -> None:
    profile = "msccl" if path.stem.startswith("all_reduce") else "executor"
    program = read_xml(path, profile=profile)
    assert from_xml(to_xml(program, profile), "again", profile=profile) == program
    assert execute(program, fifo_depth=8).values


def test_the_root_is_read_from_the_steps() -> None:
    program = from_xml(TEXT, "x")
    assert (program.kind, program.root) == (Kind.BROADCAST, 0)
    swapped = TEXT
    for old, new in (("0", "X"), ("5", "0"), ("X", "5")):  # ranks 0 and 5 change places
        for attribute in ("gpu id", "send", "recv"):
            swapped = swapped.replace(f'{attribute}="{old}"', f'{attribute}="{new}"')
    assert from_xml(swapped, "x").root == 5
    assert from_xml(TEXT, "x", root=3).root == 3
    for outside in (-1, 8):
        with pytest.raises(FormatError, match=f"root {outside} is not one of the ranks 0..7"):
            from_xml(TEXT, "x", root=outside)


def test_a_root_that_the_steps_do_not_tell_is_asked_for() -> None:
    # rank 4 gives the chunk back to rank 0 in the end: every rank receives
    extra = '    <tb id="3" send="-1" recv="4" chan="0">\n' + RECEIVE + "    </tb>\n  </gpu>"
    text = TEXT.replace("  </gpu>", extra, 1)
    with pytest.raises(FormatError, match=r"the root of this broadcast cannot be told .* never receives; give --root"):
        from_xml(text, "x")
    assert from_xml(text, "x", root=0).root == 0
    judgement = judge(read_document(text, "x"), "executor")
    assert (judgement.verdict, judgement.correct) == ("accept", False)
    assert "give --root" in judgement.reasons[0]


RECEIVE = (
    '      <step s="0" type="r" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>\n'
)
FIRST_STEP = TEXT[TEXT.index("<step") : TEXT.index("/>") + 2]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("<algo ", '<?xml version="1.0"?>\n<algo ', "x:1: .*XML declaration"),
        ("<algo ", "\ufeff<algo ", "x:1: .*byte-order mark"),
        ("  <gpu", "\t<gpu", "x:2: .*TAB"),
        ('proto="LL"', "proto='LL'", "x:1: .*single quotes"),
        ('proto="LL" ', 'proto="LL"\n', "x:1: .*line break"),
        ('proto="LL"', 'proto="ll"', 'x:1: <algo>: proto="ll" is not one of Simple, LL, LL128'),
        ('ngpus="8"', 'ngpus="9"', r"x:1: <algo>: has no <gpu id=\"8\">; ids must be 0..8 without a gap"),
        ('ngpus="8"', 'ngpus="eight"', "x:1: .*is not an integer"),
        ("</algo>", "</algo>junk", "text outside the elements"),
        ("</algo>", "", "x:1: .* never closed; is the file cut short"),
        ("</gpu>", "</tb>", "x:2: <gpu>: is closed by an element of another name; write </gpu>"),
        ('nchunksperloop="1"', 'nchunksperloop="999999999"', "x:1: <algo>: nchunksperloop=.* expected 1..32838"),
        (' s_chunks="0"', "", "x:2: <gpu>: has no attribute s_chunks"),
        (FIRST_STEP, FIRST_STEP.replace('s="0"', 's="1"'), "x:4: .*is step 0 of its <tb>"),
        (
            FIRST_STEP,
            FIRST_STEP.replace('cnt="1"', 'cnt="2"'),
            "x:4: <step> rank 0 thread block 0 step 0: src: chunks 0..1 are not all in buffer i",
        ),
        (FIRST_STEP, FIRST_STEP.replace('depid="-1"', 'depid="9"'), 'x:4: <step> rank 0 .*: depid="9" is out of range'),
        (FIRST_STEP, FIRST_STEP.replace('deps="-1"', 'deps="0"'), "x:4: <step> rank 0 .*: needs both depid and deps"),
        (
            FIRST_STEP,
            FIRST_STEP.replace('type="s"', 'type="nop"'),
            "x:4: <step> rank 0 .*: needs both depid and deps, or -1 for both .a nop both.",
        ),
        (
            FIRST_STEP,
            FIRST_STEP.replace('type="s"', 'type="r"'),
            'x:4: <step> rank 0 .*: type="r" receives, but its <tb>',
        ),
        (FIRST_STEP, FIRST_STEP.replace(" hasdep", ' cnt="1" hasdep'), "x:4: <step>: has the attribute cnt twice"),
        ('name="', 'a="" b="" c="" d="" e="" f="" g="" name="', "x:1: <algo>: has more than 16 attributes"),
    ],
)
def test_errors_name_the_line_the_element_and_the_rule(old: str, new: str, expected: str) -> None:
    assert old in TEXT
    with pytest.raises(FormatError, match=expected):
        from_xml(TEXT.replace(old, new, 1), "x")


@pytest.mark.parametrize(
    ("second", "refused"),
    [
        ({"count": 1}, True),
        ({"count": 2}, False),
        ({"count": 1, "dst_offset": 1}, False),
        ({"count": 1, "src_buffer": "i"}, False),
        ({"count": 1, "depend_block": 1, "depend_step": 0}, False),
    ],
)
def test_reductions_that_the_runtimes_merge_must_agree_in_count(second: dict[str, object], refused: bool) -> None:
    # They keep the last count for all: with 2 and 1 chunks, the second chunk would miss the first reduction.
    reduction = Step(StepType.REDUCE, "s", 0, "o", 0, 2)
    copy = Step(StepType.COPY, "i", 0, "o", 0, 1, has_dependents=True)
    steps = (reduction, replace(reduction, src_offset=2, **second))
    gpu = Gpu(4, 4, 4, (ThreadBlock(-1, -1, 0, steps), ThreadBlock(-1, -1, 0, (copy,))))
    program = Program("merge", Kind.ALL_REDUCE, 4, 1, "Simple", False, True, 0, 0, (gpu,))
    if refused:
        with pytest.raises(ScheduleError, match=r'step 1: follows a reduction of another .* cnt="1"'):
            to_xml(program, "executor")
    else:
        from_xml(to_xml(program, "executor"), "x")


def test_what_is_no_xml_says_so() -> None:
    for text in ("", "hello", "<gpu/>", "<!-- only a comment -->"):
        with pytest.raises(FormatError):
            from_xml(text, "x")


def test_integers_are_read_as_the_runtimes_read_them() -> None:
    # strtol with base 0: 0x8 and 010 are both eight
    for eight in ("0x8", "010"):
        assert from_xml(TEXT.replace('ngpus="8"', f'ngpus="{eight}"'), "x").num_ranks == 8


@given(
    st.lists(
        st.tuples(
            st.integers(0, len(TEXT) - 1), st.integers(0, 3), st.sampled_from("<>/=\"' \n\t-0123456789iosrcnlpeé")
        ),
        min_size=1,
        max_size=4,
    )
)
def test_damaged_files_are_read_or_refused_never_worse(changes: list[tuple[int, int, str]]) -> None:
    text = TEXT
    for position, removed, inserted in changes:
        text = text[:position] + inserted + text[position + removed :]
    try:
        execute(from_xml(text, "x"), fifo_depth=2)
    except HocketError as error:
        assert str(error)


@given(st.text(alphabet='<>/="ab \n!-', max_size=60))
def test_any_text_is_refused_with_a_reason(text: str) -> None:
    with pytest.raises(FormatError, match="x:"):
        from_xml(text, "x")
