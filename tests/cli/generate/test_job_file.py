"""A job in a file is the job of its traces."""

import json
from pathlib import Path

import pytest
from in_process import hocket

PLAN = ("llama3-8b", "--tp", "2", "--pp", "2", "--dp", "2", "--zero", "1", "--global-batch", "4", "--sequence", "2048")


def test_a_job_file_simulates_as_its_traces(tmp_path: Path) -> None:
    job = tmp_path / "small.job"
    printed = hocket("generate", "llm", *PLAN, "-o", job).stdout
    assert "the job of 8 ranks, whose traces are made when it is simulated" in printed
    assert [path.name for path in tmp_path.iterdir()] == ["small.job"]
    hocket("generate", "llm", *PLAN, "-o", tmp_path / "traces")
    for command in ("simulate", "step"):
        outputs = ("--no-what-if",) if command == "step" else ()
        of_file, of_traces = (
            hocket(command, path, "-t", "dgx-h100", *outputs).stdout for path in (job, tmp_path / "traces")
        )
        assert of_file == of_traces


def test_the_file_is_a_request_that_anybody_may_edit(tmp_path: Path) -> None:
    job = tmp_path / "small.job"
    hocket("generate", "llm", *PLAN, "-o", job)
    told = json.loads(job.read_text())
    assert (told["verb"], told["tp"], told["dp"]) == ("generate llm", 2, 2)
    job.write_text(json.dumps(told | {"dp": 4, "global_batch": 8}))
    assert "16 ranks" in hocket("step", job, "-t", "dgx-h100:nodes=2", "--no-what-if").stdout


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("{", "not JSON"),
        ('{"verb": "simulate"}', 'expected a request {"verb": "generate llm", ...}'),
        ('{"verb": "generate llm", "model": "llama3-8b", "colour": 1}', "colour"),
        (
            '{"verb": "generate llm", "model": "llama3-8b", "written": {"output": "x"}, "global_batch": 3, "dp": 2}',
            "global batch",
        ),
    ],
)
def test_what_is_no_job_is_told(tmp_path: Path, content: str, fault: str) -> None:
    job = tmp_path / "bad.job"
    job.write_text(content)
    told = hocket("step", job, "-t", "dgx-h100")
    assert told.returncode in (2, 3, 4)
    assert fault in told.stderr
    assert "Traceback" not in told.stderr


def test_groups_are_the_job_s_own(tmp_path: Path) -> None:
    job = tmp_path / "small.job"
    hocket("generate", "llm", *PLAN, "-o", job)
    told = hocket("simulate", job, "-t", "dgx-h100", "--groups", job)
    assert told.returncode == 2
    assert "makes its process groups itself: drop --groups" in told.stderr
