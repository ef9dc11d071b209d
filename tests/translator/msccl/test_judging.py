"""What each runtime does with a file: the runtimes' own answers on probes and references, and what they do not see."""

import csv
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hocket.translator import PROFILES, Severity, Verdict, judge, read_document, read_file

DATA = Path(__file__).parents[2] / "data" / "msccl_xml"
TEXT = (DATA / "all_reduce_all_pairs_4.xml").read_text()

# Probe files that some runtime accepts, and the severity and rule of what it then does (besides a wrong result).
ACCEPTED = {
    "14_two_algos.xml": ("suspect", "second algorithm"),
    "16_value_300_chars.xml": ("suspect", "long value"),
    "31_steps_dup_s.xml": ("suspect", "step order"),
    "41_chan_1.xml": ("kernel", "absent channel"),
    "42_nchannels_33.xml": ("kernel", "channels"),
    "43_cnt_0.xml": ("wrong", "no chunks"),
    "47_rrc_oob.xml": ("wrong", "src outside"),
    "48_peer_oob.xml": ("kernel", "absent peer"),
    "56_depid_200.xml": ("wrong", "far dependency"),
    "59_coll_recv.xml": ("kernel", "collective"),
    "60_type_ra.xml": ("kernel", "residual add"),
    "63_maxbytes_0.xml": ("size", "selection"),
    "63_min_gt_max.xml": ("size", "selection"),
    "66_nchunks_0.xml": ("kernel", "chunks"),
    "67_non_numeric.xml": ("suspect", "number"),
}


def rows(table: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(table.read_text().splitlines()))


@pytest.mark.shared
def test_probes_get_the_runtimes_own_verdicts(shared: Path) -> None:
    folder = shared / "msccl_probes"
    for row in rows(folder / "verdicts.csv"):
        for runtime in PROFILES:
            judgement = judge(read_file(folder / row["file"]), runtime)
            assert (judgement.verdict == Verdict.ACCEPT) == (row[runtime] == "ACCEPT"), (row["file"], runtime)
            # a file that crashes the parser (CRASH1) counts as rejected; every rejection has its reason and place
            assert judgement.reasons or judgement.verdict == Verdict.ACCEPT
            # each probe tests one rule; none computes its collective, of which a custom one has nothing to say
            assert not judgement.good or row["file"] == "59_coll_custom.xml"


@pytest.mark.shared
@pytest.mark.parametrize("name", ACCEPTED)
def test_what_a_parser_lets_pass_is_told(shared: Path, name: str) -> None:
    document = read_file(shared / "msccl_probes" / name)
    accepted = [judge(document, runtime) for runtime in PROFILES]
    found = {
        (str(finding.severity), finding.rule)
        for judgement in accepted
        if judgement.verdict == Verdict.ACCEPT
        for finding in judgement.findings
    }
    assert ACCEPTED[name] in found


@pytest.mark.shared
@pytest.mark.parametrize("runtime", PROFILES)
def test_references_get_their_verdicts_results_and_safe_sizes(shared: Path, runtime: str) -> None:
    folder = shared / "msccl_xml"
    for row in rows(folder / "index.csv"):
        judgement = judge(read_file(folder / row["file"]), runtime)
        accepted = row["executor64" if runtime == "executor" else runtime] == "ACCEPT"
        assert (judgement.verdict == Verdict.ACCEPT) == accepted, row["file"]
        assert judgement.correct == (row["xmlsim"] == "ok"), row["file"]
        safe = row["safe_max_bytes_amd" if runtime == "rccl" else "safe_max_bytes_nvidia"]
        assert judgement.largest_safe_bytes == (None if safe == "unlimited" else int(safe)), row["file"]
        assert judgement.selectable != (runtime == "msccl" and row["maxBytes"] == "0"), row["file"]


def test_a_size_that_deadlocks_is_told() -> None:
    # both ranks send a step of 2 chunks before they take one: 2 messages of a chunk fit in a connection (Simple), so a
    # third chunk blocks both when chunks are so large that each is a message: above 3 chunks * floor(2 MiB / 2)
    step = (
        '<step s="{}" type="{}" srcbuf="i" srcoff="0" dstbuf="s" dstoff="0" cnt="3" depid="-1" deps="-1" hasdep="0"/>'
    )
    blocks = (
        f'<tb id="0" send="{1 - rank}" recv="{1 - rank}" chan="0">{step.format(0, "s")}{step.format(1, "r")}</tb>'
        for rank in (0, 1)
    )
    gpus = "".join(
        f'<gpu id="{rank}" i_chunks="3" o_chunks="3" s_chunks="3">{block}</gpu>' for rank, block in enumerate(blocks)
    )
    head = 'name="x" proto="Simple" nchannels="1" nchunksperloop="3" ngpus="2" coll="custom" inplace="0" outofplace="1"'
    document = read_document(f'<algo {head} minBytes="0" maxBytes="67108864">{gpus}</algo>', "x")
    judgement = judge(document, "msccl")
    assert (judgement.correct, judgement.safe, judgement.good) == (True, False, False)
    assert judgement.largest_safe_bytes == 3 * (2 << 20) // 2
    assert judge(document, "msccl", fifo_depth=1).largest_safe_bytes == 3 * ((2 << 20) // 3)
    small = judge(read_document(document.content.replace(b"67108864", b"3145729"), "x"), "msccl")
    assert (small.safe, small.selectable) == (True, True)  # below maxBytes: at most 3 MiB


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ('<gpu id="1"', '<gpu id="0"', "missing rank"),
        ('chan="0"', 'chan="32"', "channel number"),
        ('nchannels="1"', 'nchannels="33"', "channels"),
        ('hasdep="1"', 'hasdep="2"', "hasdep"),
        ('cnt="1"', 'cnt="-1"', "count"),
        ('type="s" srcbuf="i" srcoff="1"', 'type="s" srcbuf="i" srcoff="40000"', "src outside"),
        ('inplace="0"', 'inplace="0" nthreads="33"', "threads"),
        ("<step ", "<step ><x/></step><step ", "step child"),
        ("</tb>", "</block>", "closing"),
        ('<tb id="0"', '<tb id="7"', "gap"),
    ],
)
def test_rules_name_what_they_refuse(old: str, new: str, rule: str) -> None:
    assert old in TEXT
    findings = judge(read_document(TEXT.replace(old, new, 1), "x"), "msccl").findings
    found = {finding.rule for finding in findings if finding.severity in (Severity.REJECT, Severity.KERNEL)}
    assert rule in found


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        (TEXT.replace("\n", "\r\n"), "accept"),
        ("<!-- made by hand -->\n" + TEXT, "accept"),
        ("<!--x=1-->\n" + TEXT, "reject"),  # the first word of a comment is read as a name, where no = may be
        (TEXT + "<note>anything <b></wrong> at all", "reject"),  # no text between elements, whatever they are
        (TEXT + "<note><b></wrong></note>", "accept"),  # in elements that they skip, closing names are not compared
        (TEXT.replace("/>", " />"), "accept"),
        (TEXT.replace("/>", "/ >"), "reject"),
        (TEXT.replace("/>", "/x>"), "accept"),
        (TEXT.replace('proto="', "proto='"), "accept"),  # either quote opens a value, only a double one ends it
        (TEXT.replace('name="', 'name="\n\t<>&'), "accept"),  # a value holds anything
        ("<?xml version='1.0'?>" + TEXT, "reject"),
        ("<!DOCTYPE algo>" + TEXT, "reject"),
        ("<wrapper>" + TEXT + "</wrapper>", "reject"),
        ("<a>" * 20_000 + "</a>" * 20_000 + TEXT, "reject"),
        ("", "reject"),
    ],
)
def test_the_tokenizer_is_the_runtimes_own(text: str, verdict: str) -> None:
    assert judge(read_document(text, "x"), "msccl").verdict == verdict


def test_a_file_is_read_as_bytes() -> None:
    accepted = TEXT.encode().replace(b'name="', b'name="\xff\xfe\x00')
    assert judge(read_document(accepted, "x"), "msccl").verdict == Verdict.ACCEPT


@settings(max_examples=200)
@given(
    st.lists(
        st.tuples(
            st.integers(0, len(TEXT) - 1),
            st.integers(0, 3),
            st.sampled_from(re.findall(r"\w+|.", "<>/=\"' \n\t-019iosé")),
        ),
        min_size=1,
        max_size=4,
    ),
    st.sampled_from(list(PROFILES)),
)
def test_damaged_files_are_judged_never_worse(changes: list[tuple[int, int, str]], runtime: str) -> None:
    text = TEXT
    for position, removed, inserted in changes:
        text = text[:position] + inserted + text[position + removed :]
    judgement = judge(read_document(text, "x"), runtime)
    assert judgement.verdict == Verdict.ACCEPT or judgement.reasons
    assert not judgement.good or judgement.correct


@given(st.binary(max_size=80), st.sampled_from(list(PROFILES)))
def test_any_bytes_are_judged(content: bytes, runtime: str) -> None:
    assert judge(read_document(content, "x"), runtime).verdict == Verdict.REJECT


@pytest.mark.parametrize("runtime", PROFILES)
def test_numbers_of_any_length_are_read_as_c_reads_them(runtime: str) -> None:
    # strtol stops at 2^63 - 1, of which an int keeps -1: no such rank is in any communicator
    huge = judge(read_document(TEXT.replace('ngpus="4"', f'ngpus="{"9" * 5000}"'), "x"), runtime)
    assert "ranks" in {finding.rule for finding in huge.findings}


def test_a_send_over_ll_is_no_guard_on_rccl() -> None:
    # RCCL's kernels have no barrier after an LL send (told from their source), so a wait for one is not a guard
    text = re.sub('(type="s" .*)hasdep="."', r'\1hasdep="0"', TEXT)
    assert 'proto="LL"' in text
    waited = re.sub('(type="s" .*)hasdep="0"', r'\1hasdep="1"', text, count=1)
    for runtime in PROFILES:
        for content, told in ((text, False), (waited, runtime == "rccl"), (waited.replace('"LL"', '"Simple"'), False)):
            notes = [
                one for one in judge(read_document(content, "x"), runtime).findings if one.severity == Severity.NOTE
            ]
            assert [one.rule for one in notes if one.rule == "unguarded send"] == ["unguarded send"] * told
