"""Requests for windows of steps: each is kept until rank 0 takes it, the oldest first."""

from pathlib import Path

import in_process
import streams
from streams import group, meta

from hocket.recording.triggers import TriggerRequest, ask, take_request


def test_a_request_does_not_take_the_place_of_one_that_is_not_seen(tmp_path: Path) -> None:
    for steps in (3, 5, 4):
        ask(tmp_path, TriggerRequest("asked for", steps))
    (tmp_path / "trigger" / "request-0-0.json").write_text("half of a")
    taken = [take_request(tmp_path) for _ in range(4)]
    assert [None if request is None else request.steps for request in taken] == [3, 5, 4, None]
    assert list((tmp_path / "trigger").iterdir()) == []


def test_who_asks_behind_another_is_told_its_own_window(tmp_path: Path) -> None:
    streams.write(tmp_path, 0, meta(0, 1, triggers=True), group([0]))
    told = [in_process.hocket("collect", "trigger", tmp_path).stdout for _ in range(2)]
    assert ["--window trigger1" in told[0], "--window trigger2" in told[1]] == [True, True]
