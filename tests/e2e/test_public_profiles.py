"""Profiles that others published, each of one rank: imported, completed and simulated. They are read in place, from the
folder that HOCKET_PUBLIC_PROFILES names, and skipped where it is not set or lacks one."""

import os
from pathlib import Path

import pytest
from in_process import hocket

from hocket.bench.public_profiles import PROFILES, Profile, recorded_ns, replayed_ns
from hocket.chakra import NodeType, read_trace


def found(name: str) -> Path:
    """The profile, where there is one."""
    folder = os.environ.get("HOCKET_PUBLIC_PROFILES")
    if folder is None or not (Path(folder) / name).is_file():
        pytest.skip("HOCKET_PUBLIC_PROFILES names no folder with this profile")
    return Path(folder) / name


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: Path(profile.file).name)
def test_one_public_rank_becomes_a_simulated_job(tmp_path: Path, profile: Profile) -> None:
    done = hocket("trace", "import", found(profile.file), *profile.told.split(), "-o", tmp_path / "one")
    assert done.returncode == 0, done.stderr
    trace = read_trace(tmp_path / f"one/trace.{profile.rank}.et")
    assert int((trace.type >= NodeType.COMM_SEND).sum()) == profile.communications
    # Streams run side by side as they did, and idle where they did. Kernels of one stream that overlap do not.
    assert replayed_ns(trace) == pytest.approx(recorded_ns(trace), rel=0.002)
    done = hocket("trace", "complete", tmp_path / "one", "-o", tmp_path / "job")
    assert done.returncode == 0, done.stderr
    assert f"wrote {profile.ranks} traces" in done.stdout
    done = hocket("trace", "validate", tmp_path / "job")
    assert done.returncode == 0, done.stdout
    done = hocket("simulate", tmp_path / "job", "-t", profile.machine)
    assert done.returncode == 0, done.stderr
