"""Commands that pages show and no test types, each with the reason: what is in no `console` block."""

import re

from typed_commands import PAGES, ROOT, blocks, hocket_lines

#: Pages whose commands other tests type, or that repeat what `--help` shows.
ELSEWHERE = {
    "nccl-guide.md": "tests/e2e/test_nccl_guide.py",
    "slurm.md": "tests/e2e/test_slurm_guide.py",
    "commands.md": "src/hocket/docs",
}
#: Why a command is only parsed, of which (`page: words`, from the beginning).
NOT_RUN = {
    "it starts the processes of a job": (
        r"collect[\w-]*\.md: collect ",
        r"README\.md: run ",
        r"calibrate\.md: run ",
        r"cluster\.md: run ",
        r"device\.md: run ",
        r"executor\.md: launch ",
        r"replay\.md: ",
        r"selftest\.md: selftest",
    ),
    "it reads what such a job left": (
        r"calibrate\.md: calibrate (ring|two)",
        r"calibrate\.md: simulate ",
        r"collect-mpi\.md: simulate ",
        r"executor\.md: bundle ",
        r"nccl-profiler\.md: ",
        r"nccl-tuning\.md: nccl (log|tuner (make (\*|profile-)|check table))",
        r"selftest\.md: (calibrate|simulate) ",
    ),
    "it reads a file of the reader's own, which has no copy here": (
        r"calibrate\.md: (calibrate --kernels|generate llm llama3-8b --accelerator here)",
        r"import\.md: ",
        r"topology\.md: topology show (smi|infragraph):",
        r"translator\.md: explain ",
        r"peers\.md: verify star\.csv",
    ),
    "it needs the sources or packages of others": (
        r"nccl-itself\.md: nccl run-stock ",
        r"network-models\.md: .* --model ns3",
    ),
    "the programs that it makes are for the command after it": (
        r"README\.md: translate ",
        r"cluster\.md: (synthesize|translate) ",
        r"device\.md: (synthesize|translate) ",
        r"executor\.md: translate ",
    ),
    "it takes several seconds, or measures this machine": (
        r"evidence\.md: bench claims ",
        r"peers\.md: bench peers ",
        r"speed\.md: bench speed ",
        r"step\.md: ",
        r"sweep\.md: sweep examples/sweep_jobs",
        r"synthesizer\.md: .* --for ",
        r"traffic\.md: traffic ",
    ),
}


def not_run() -> list[str]:
    """`page: words` of each command that is in no block that a test runs."""
    shown = [(page.name, block) for page in PAGES if page.name not in ELSEWHERE for block in blocks(page)]
    return [
        f"{page}: {' '.join(words)}"
        for page, block in shown
        if block.language != "console"
        for words in hocket_lines(block)
    ]


def test_every_command_that_is_not_run_has_one_reason() -> None:
    for command in not_run():
        reasons = [why for why, which in NOT_RUN.items() if any(re.match(each, command) for each in which)]
        assert len(reasons) == 1, f"{command}: {reasons or 'make its block `console`, or say here why not'}"


def test_every_reason_is_needed() -> None:
    """What is run by now stands here no more."""
    commands = not_run()
    stale = [each for which in NOT_RUN.values() for each in which if not any(re.match(each, one) for one in commands)]
    assert not stale


def test_tests_of_other_pages_are_there() -> None:
    assert all((ROOT / place).exists() for place in ELSEWHERE.values())
