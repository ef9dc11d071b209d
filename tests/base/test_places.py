"""What stands under a name decides how it is written: devices and pipes are written to, links lead on, modes stay."""

import os
import resource
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest

from hocket.base.errors import HocketError
from hocket.base.files import atomic_folder, atomic_path, atomic_write, make_folder, require_place, together

AS_ROOT = os.geteuid() == 0
root_only = pytest.mark.skipif(not AS_ROOT, reason="needs root: makes a device or mounts a file system")


def write(path: Path, text: str = "text") -> None:
    with atomic_write(path) as file:
        file.write(text)


@contextmanager
def file_size_limit(size_bytes: int) -> Iterator[None]:
    """Files cannot grow beyond this: what a full disk does, without one."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@root_only
def test_a_device_is_written_to(tmp_path: Path) -> None:
    device = tmp_path / "null"
    os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    write(device)
    with atomic_path(device) as temporary:
        temporary.write_text("text")
    assert stat.S_ISCHR(device.stat().st_mode)
    assert names(tmp_path) == ["null"]


@root_only
def test_a_full_device_is_named(tmp_path: Path) -> None:
    device = tmp_path / "full"
    os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 7))
    with pytest.raises(HocketError, match=f"^{device}: cannot be written: No space left on device"):
        write(device)
    with (
        pytest.raises(HocketError, match=f"^{device}: cannot be written: No space left"),
        atomic_path(device) as temporary,
    ):
        temporary.write_text("text")
    assert stat.S_ISCHR(device.stat().st_mode)


@pytest.mark.parametrize("linked", [False, True])
def test_a_pipe_is_written_to(tmp_path: Path, linked: bool) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    if linked:
        (tmp_path / "link").symlink_to("pipe")
    writer = Thread(target=write, args=(tmp_path / "link" if linked else pipe, "through it"))
    writer.start()
    assert pipe.read_text() == "through it"
    writer.join()
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize("name", ["/dev/fd/{}", "/proc/self/fd/{}"])
def test_a_descriptor_is_written_to_where_it_stands(tmp_path: Path, name: str) -> None:
    """Shells hand over `>(command)` so; a file that was opened to append to keeps what it has."""
    path = tmp_path / "log"
    path.write_text("before\n")
    with path.open("a") as log:
        write(Path(name.format(log.fileno())), "after\n")
        (tmp_path / "link").symlink_to(name.format(log.fileno()))
        write(tmp_path / "link", "again\n")
    assert path.read_text() == "before\nafter\nagain\n"


@pytest.mark.parametrize("existing", [False, True])
def test_the_target_of_a_link_is_replaced(tmp_path: Path, existing: bool) -> None:
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "target", tmp_path / "link"
    if existing:
        target.write_text("before")
    (tmp_path / "middle").symlink_to(Path("there") / "target")
    link.symlink_to("middle")
    write(link)
    assert link.is_symlink() and (tmp_path / "middle").is_symlink()
    assert target.read_text() == "text" and not target.is_symlink()


def test_links_in_a_circle_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(HocketError, match="Too many levels of symbolic links"):
        write(tmp_path / "a")


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755])
def test_a_file_keeps_its_mode(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "file"
    path.write_text("before")
    path.chmod(mode)
    write(path)
    assert path.read_text() == "text" and stat.S_IMODE(path.stat().st_mode) == mode


@root_only
def test_a_file_keeps_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("before")
    os.chown(path, 1234, 1235)
    write(path)
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 1235)


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_new_file_has_the_mode_that_the_umask_leaves(tmp_path: Path, umask: int, mode: int) -> None:
    before = os.umask(umask)
    try:
        write(tmp_path / "file")
        with atomic_path(tmp_path / "path") as temporary:
            temporary.write_text("text")
    finally:
        os.umask(before)
    assert {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("file", "path")} == {mode}


def test_a_file_that_may_not_be_written_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("before")
    path.chmod(0o444)
    code = f"""
import os
from hocket.base.errors import HocketError
from hocket.base.files import atomic_write
os.getuid() == 0 and os.seteuid(1234)
try:
    with atomic_write({str(path)!r}) as file:
        file.write("text")
except HocketError as error:
    print(error)
"""
    for folder in (tmp_path, *tmp_path.parents[:3]):
        folder.chmod(folder.stat().st_mode | 0o007)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd="/")
    assert done.stdout == f"{path}: cannot be written: Permission denied; choose another place\n"
    assert path.read_text() == "before"


def test_temporaries_cannot_be_planted(tmp_path: Path) -> None:
    """A link that waits under the temporary's name would be followed: the name is not to be guessed, and is new."""
    seen = set()
    for _ in range(2):
        with atomic_path(tmp_path / "file") as temporary:
            assert temporary.parent == tmp_path and str(os.getpid()) not in temporary.name
            assert temporary.lstat().st_size == 0  # exists: nothing can be put in its place unseen
            seen.add(temporary.name)
    assert len(seen) == 2


def test_a_planted_temporary_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    victim = tmp_path / "victim"
    victim.write_text("kept")
    monkeypatch.setattr("secrets.token_hex", lambda size: "guessed")
    (tmp_path / ".file.guessed.part").symlink_to(victim)
    with pytest.raises(HocketError, match="File exists"):
        write(tmp_path / "file")
    assert victim.read_text() == "kept" and not (tmp_path / "file").exists()


def test_long_names_have_temporaries_too(tmp_path: Path) -> None:
    write(tmp_path / ("n" * 250))
    write(tmp_path / ("ä" * 120))
    assert len(names(tmp_path)) == 2


def test_a_full_disk_leaves_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("before")
    with (
        file_size_limit(10_000),
        pytest.raises(HocketError, match=f"^{tmp_path / 'file'}: cannot be written: File too large"),
        atomic_write(tmp_path / "file") as file,
    ):
        file.write("x" * 100_000)
    assert names(tmp_path) == ["file"] and (tmp_path / "file").read_text() == "before"


def test_what_fails_elsewhere_is_not_blamed_on_the_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), atomic_write(tmp_path / "file"):
        (tmp_path / "other").read_text()
    assert names(tmp_path) == []


def test_files_appear_together(tmp_path: Path) -> None:
    (tmp_path / "first").write_text("before")
    with together():
        write(tmp_path / "first")
        with together():  # part of the whole
            write(tmp_path / "new" / "second")
        assert (tmp_path / "first").read_text() == "before" and not (tmp_path / "new" / "second").exists()
    assert (tmp_path / "first").read_text() == (tmp_path / "new" / "second").read_text() == "text"
    assert names(tmp_path) == ["first", "new"]


def test_or_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "first").write_text("before")
    with pytest.raises(HocketError, match="third: cannot be written"), file_size_limit(10_000), together():
        write(tmp_path / "first")
        write(make_folder(tmp_path / "new" / "newer") / "second")
        with atomic_folder(tmp_path / "folder") as folder:
            (folder / "inside").write_text("text")
        write(tmp_path / "third", "x" * 100_000)
    assert names(tmp_path) == ["first"] and (tmp_path / "first").read_text() == "before"


def test_a_name_that_is_lost_at_the_last_moment_takes_the_others_back(tmp_path: Path) -> None:
    (tmp_path / "first").write_text("before")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "old").write_text("before")
    with pytest.raises(HocketError, match="third: cannot be written"), together():
        for name in ("first", "second", "third"):
            write(tmp_path / name)
        with atomic_folder(tmp_path / "folder") as folder:
            (folder / "new").write_text("text")
        write(tmp_path / "third")
        (tmp_path / "third").mkdir()
        (tmp_path / "third" / "inside").write_text("in the way")
    assert names(tmp_path) == ["first", "folder", "third"]
    assert (tmp_path / "first").read_text() == "before" and names(tmp_path / "folder") == ["old"]


@root_only
def test_a_full_file_system_shows_all_or_nothing(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", disk], capture_output=True).returncode:
        pytest.skip("no file system may be mounted here")
    try:
        (disk / "first").write_text("before")
        with pytest.raises(HocketError, match="cannot be written: No space left on device"), together():
            for name in ("first", "second", "third"):
                write(disk / name, "x" * 30_000)
        assert names(disk) == ["first"] and (disk / "first").read_text() == "before"
        with together():
            for name in ("first", "second"):
                write(disk / name, "x" * 20_000)
        assert names(disk) == ["first", "second"]
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_folder_behind_a_link_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir(0o700)
    (tmp_path / "link").symlink_to("folder")
    with atomic_folder(tmp_path / "link") as folder:
        (folder / "inside").write_text("text")
    assert (tmp_path / "link").is_symlink() and names(tmp_path) == ["folder", "link"]
    assert names(tmp_path / "folder") == ["inside"]
    assert stat.S_IMODE((tmp_path / "folder").stat().st_mode) == 0o700


@pytest.mark.parametrize("name", ["-", "/dev/stdout"])
def test_standard_output_is_no_folder(name: str) -> None:
    with pytest.raises(HocketError, match="standard output is no folder"):
        make_folder(name)
    with pytest.raises(HocketError, match="standard output is no folder"), atomic_folder(name):
        pass


def test_places_are_looked_at_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    for good in (tmp_path / "file", tmp_path / "new" / "newer", Path("-"), Path("/dev/stdout")):
        require_place(good)
    for bad in (tmp_path, tmp_path / "file" / "below"):
        with pytest.raises(HocketError, match=f"^{bad}: cannot be written: "):
            require_place(bad)


def test_a_signal_as_a_file_takes_its_name_leaves_all_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replace = os.replace

    def interrupted(*paths: Path) -> None:
        replace(*paths)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "x")
    assert names(tmp_path) == ["x"]
    assert (tmp_path / "x").read_text() == "text"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_leave_no_temporaries(tmp_path: Path, number: int) -> None:
    code = f"""
import signal, time
from hocket.base.files import atomic_folder, atomic_write
from hocket.base.interrupts import ended_by_signals
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup has it ignored
with ended_by_signals(), atomic_write({str(tmp_path / "file")!r}) as file, atomic_folder({str(tmp_path / "folder")!r}):
    file.write("text")
    print("writing", flush=True)
    time.sleep(60)
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout and process.stdout.readline() == b"writing\n"
    assert len(names(tmp_path)) == 2
    process.send_signal(number)
    assert b"KeyboardInterrupt" in (said := process.communicate()[1]) or b"Terminated" in said
    assert names(tmp_path) == []
