"""The collector of one process: armed when torch is imported, at work from the first collective to the exit."""

import atexit
import multiprocessing.util
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from weakref import ref

import torch
import torch.distributed as dist

from hocket.base import processes
from hocket.base.errors import HocketError
from hocket.base.notices import notice
from hocket.plugin.torch import interfaces
from hocket.plugin.torch.batches import watch_batches
from hocket.plugin.torch.clock import ClockServer, Offset, OffsetMeter, measure_offset, read_clocks
from hocket.plugin.torch.compiling import stay_uncompiled
from hocket.plugin.torch.cores import CoreTimes
from hocket.plugin.torch.futures import watch_futures
from hocket.plugin.torch.graphs import GraphWatch
from hocket.plugin.torch.groups import watch_destroyed
from hocket.plugin.torch.hook_choice import choose_hook
from hocket.plugin.torch.job import (
    WrittenStream,
    agree_on_folder,
    await_ends,
    await_streams,
    has_recorded,
    name_silent,
    tell_end,
)
from hocket.plugin.torch.nccl_events import NcclEvents
from hocket.plugin.torch.profiling import OperatorProfiler
from hocket.plugin.torch.sections import watch_sections
from hocket.plugin.torch.steps import StepCounter
from hocket.plugin.torch.store_connection import own_connection
from hocket.plugin.torch.triggers import Triggers
from hocket.plugin.torch.unseen import Unseen
from hocket.recording.folder import make_folder, operators_path, stream_path
from hocket.recording.jobs import claim_job, name_job
from hocket.recording.segments import segment_paths
from hocket.recording.settings import OUT_VARIABLE, Settings
from hocket.recording.stream import FORMAT, record

__all__ = ["Collector", "arm", "mark_step"]

_LAST_PATIENCE = timedelta(seconds=5)

_collector: "Collector | None" = None


def arm() -> None:
    """Starts the collector HOCKET_COLLECT asks for; a second call, or one without that variable, does nothing.

    Raises FormatError for a variable that cannot be read or a folder that cannot be made.
    """
    global _collector
    settings = Settings.from_environment()
    if settings is not None and _collector is None and dist.is_available():
        _collector = Collector(settings)


def mark_step() -> None:
    """Ends a training step of the collector that is at work, if one is."""
    if _collector is not None:
        _collector.steps.mark()


class Collector:
    """Hooks this process's collectives; opens its stream at the first; at the exit closes it, and on rank 0 merges.

    `root` is the folder that was asked for, `folder` the job's in it, once its ranks have agreed on one.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.root = make_folder(settings.out)
        self.folder: Path | None = None
        times = not settings.no_device_times
        self._hook, self._remark = choose_hook(
            settings.hook, settings.stacks, times, settings.completion, settings.no_build
        )
        self._graphs = GraphWatch(self._hook)
        self._unseen = Unseen()
        self._profiler = OperatorProfiler() if settings.ops else None
        self._nccl = None if settings.no_nccl else NcclEvents(self.root)
        self._triggers = Triggers(settings) if settings.may_trigger else None
        self.steps = StepCounter(settings, self._select, self._triggers)
        self._starting = threading.RLock()
        self._world_group: Callable[[], dist.ProcessGroup | None] = _nobody
        self._process = os.getpid()
        self._rank, self._world = 0, 1
        self._store: dist.Store
        self._clock: OffsetMeter | ClockServer
        self._cores: CoreTimes | None = None
        self._idle: tuple[int, int, dist.Store, int] | None = None
        self._turn = 0
        self._unmerged: list[Path] = []
        self._at_exit()
        self._hook.install(self._start)
        watch_batches(self._hook)
        watch_sections(self._hook)
        watch_futures(self._hook)
        watch_destroyed(self._before_destroyed)
        stay_uncompiled()

    def _select(self, recorded: bool) -> None:
        self._graphs.select(recorded)
        if self._profiler is not None:
            self._profiler.select(recorded)

    def _before_destroyed(self, every: bool) -> None:
        """Groups are about to go, and the job's store with the last of them: who recorded nothing has yet to say so."""
        if self.folder is None and dist.is_initialized():
            with suppress(Exception):  # a store of another kind
                self._idle = dist.get_rank(), dist.get_world_size(), self._connect(), self._turn
        self._turn += every
        self._hook.forget_groups()

    def _start(self) -> None:
        """At the first collective, and at the first after groups were destroyed: they may be another job's now."""
        with self._starting:  # several threads may issue their first
            world = dist.group.WORLD
            if world is not None and self._world_group() is world:
                return
            self._world_group = _nobody if world is None else ref(world)
            try:
                self._open()
            except Exception as error:  # a full disk, say, is no reason for the job to fail
                notice(f"hocket: cannot collect into {self.folder or self.root}: {error}")

    def _open(self) -> None:
        """Opens the stream; where one is open, goes on in it if this process is the same rank of the same job."""
        rank, world, store = dist.get_rank(), dist.get_world_size(), self._connect()
        known = self.folder if self.folder is not None and (rank, world) == (self._rank, self._world) else None
        name = self.settings.job or name_job(sys.argv[0])
        if world == 1:  # there may be several of one process each on torchrun's store
            folder = known or claim_job(self.root, name)
        else:
            folder = agree_on_folder(store, self._turn, self.root, name, known)
        if folder == known:
            return
        if self.folder is not None:
            if self._world > 1:
                with suppress(dist.DistError):  # the store may be gone with the groups
                    self._clock.stop(self._store)
            self._end_stream(failed=False)
            if self._rank == 0:
                self._unmerged.append(self.folder)
            self.folder = None  # until the next job's stream is open
        stream = stream_path(folder, rank)
        if any(path.stat().st_size for path in segment_paths(stream)):
            raise HocketError(f"{stream} is another process's: two of the job say that they are rank {rank}")
        self._process = os.getpid()
        self._cores = CoreTimes.now()
        self._stream = self._hook.open(stream, self.settings.in_segments, self.settings.max_bytes)
        self.folder, self._rank, self._world, self._store = folder, rank, world, store
        epoch_ns, perf_ns = read_clocks()
        self._stream.keep(
            record(
                "meta",
                format=FORMAT,
                rank=rank,
                world=world,
                job=folder.name,
                boot=Path("/proc/sys/kernel/random/boot_id").read_text().strip(),
                pid=self._process,
                torch=torch.__version__,
                script=Path(sys.argv[0]).name,
                epoch_ns=epoch_ns,
                perf_ns=perf_ns,
                step=self.steps.number,
                hook=self._remark,
                triggers=self._triggers is not None,
            )
        )
        self._tell_missed()
        if self._triggers is not None:
            self._triggers.open(self._stream, folder, rank)
        self.steps.open(self._stream)
        self._graphs.open(self._stream)
        self._unseen.open(self._stream)
        if self._profiler is not None:
            self._profiler.open(operators_path(folder, rank), self._stream)
        if self._nccl is not None:
            self._nccl.open(self._stream, folder)
        os.register_at_fork(after_in_child=self._hook.abandon)
        if world > 1:
            connection = self._connect()
            self._clock = OffsetMeter(connection, self._write_offset) if rank else ClockServer(connection)
        self._at_exit()

    def _at_exit(self) -> None:
        atexit.unregister(self._close)
        atexit.register(self._close)
        if multiprocessing.parent_process() is not None:  # a process that multiprocessing forked skips atexit
            multiprocessing.util.Finalize(None, self._close, exitpriority=0)

    def _tell_missed(self) -> None:
        """What this PyTorch lacks of what is wanted of it, for the summary."""
        for name, loss in interfaces.take_missed().items():
            self._stream.keep(record("error", op=name, message=loss))

    def _connect(self) -> dist.Store:
        self._job_store = interfaces.STORE.need()()  # kept: rank 0's may be the server
        return own_connection(self._job_store)

    def _write_offset(self, offset: Offset) -> None:
        self._stream.keep(record("clock", **offset._asdict()))

    def _close(self) -> None:
        if os.getpid() != self._process:  # a child that the script forked
            return
        self._process = 0  # once
        if self.folder is None:
            with suppress(dist.DistError):
                self._close_idle()
        else:
            self._close_job(self.folder, failed=hasattr(sys, "last_value"))  # an exception ends the script
        for folder in self._unmerged:
            self._merge(folder)

    def _close_job(self, folder: Path, failed: bool) -> None:
        """Of a rank whose stream is open: ends it; on rank 0 waits for those of the others, which are then merged."""
        if self._rank > 0:
            with suppress(dist.DistError):  # the store may be gone with rank 0, or with torchrun
                self._clock.stop(self._store)
                offset = None if failed else measure_offset(self._store, _LAST_PATIENCE)
                if offset is not None:
                    self._write_offset(offset)
        self._end_stream(failed)
        if self._world > 1:
            with suppress(dist.DistError):
                self._part(folder, failed)
        if failed and self._rank == 0:
            notice(f"hocket: recorded until the error; to merge: hocket collect merge {folder}")
        elif self._rank == 0:
            self._unmerged.append(folder)

    def _end_stream(self, failed: bool) -> None:
        if self._profiler is not None:
            self._profiler.close()
        self._hook.close_devices()
        self._unseen.close()
        if self._nccl is not None:
            self._nccl.close()
        with suppress(Exception):  # whatever a PyTorch of which nothing is known raises
            self._hook.write_cost()
        self._tell_missed()
        if self._cores is not None and (line := self._cores.line()) is not None:
            self._stream.write(line)
        epoch_ns, perf_ns = read_clocks()
        self._stream.write(record("end", t=perf_ns, epoch_ns=epoch_ns, ok=not failed))
        self._stream.close()
        if self._triggers is not None:
            self._triggers.close()

    def _part(self, folder: Path, failed: bool) -> None:
        """Tells rank 0, which waits for the others unless its script failed. Raises DistError without a store."""
        if self._rank > 0:
            tell_end(self._store, _written(self._rank, stream_path(folder, self._rank)))
            return
        if not failed:
            self._await_others(self._store, self._world, folder)
        self._clock.stop(self._store)

    def _await_others(self, store: dist.Store, world: int, folder: Path) -> None:
        """Until their streams are whole in the job's folder, as long as was asked for; says whose are not."""
        begin, patience = time.monotonic(), self.settings.timeout
        written = await_ends(store, range(1, world), patience)
        self._say_missing(world, folder, written, max(0, patience - (time.monotonic() - begin)))

    def _say_missing(self, world: int, folder: Path, written: Sequence[WrittenStream], patience: float) -> None:
        if silent := name_silent(world, written):
            told = f"{silent} did not end within {self.settings.timeout} s; merging what there is"
            notice(f"hocket: {told}")
        for late in await_streams(folder, written, patience):
            notice(f"hocket: {late}; once it is: hocket collect merge {folder}")

    def _close_idle(self) -> None:
        """Of a rank that issued no collective; rank 0 merges what the others recorded. Raises DistError."""
        if self._idle is None and dist.is_initialized():
            self._idle = dist.get_rank(), dist.get_world_size(), self._connect(), self._turn
        rank, world, store, turn = self._idle or (int(os.environ.get("RANK", "-1")), 1, None, 0)
        if rank > 0 and store is not None:
            tell_end(store, WrittenStream(rank))
        elif rank == 0:
            folder = None if store is None or hasattr(sys, "last_value") else self._await_recorded(store, world, turn)
            if folder is None:
                notice(f"hocket: nothing is collected into {self.root}: rank 0 issued no collective")
            else:
                self._unmerged.append(folder)

    def _await_recorded(self, store: dist.Store, world: int, turn: int) -> Path | None:
        """The folder of what the others recorded, once they have ended; None where they have not. Raises DistError."""
        clock = ClockServer(self._connect()) if dist.is_initialized() else None
        written = await_ends(store, range(1, world), self.settings.timeout)
        if clock is not None:
            clock.stop(store)
        if not has_recorded(store, turn):
            return None
        folder = agree_on_folder(store, turn, self.root, "")
        self._say_missing(world, folder, written, self.settings.timeout)
        return folder

    def _merge(self, folder: Path) -> None:
        """In a process of its own: the job's memory and state of mind are no place for it."""
        command = [sys.executable, "-m", "hocket", "collect", "merge", str(folder)]
        sys.stdout.flush()
        environment = {name: value for name, value in os.environ.items() if not name.startswith(OUT_VARIABLE)}
        processes.run(command, env=environment, tied=False)


def _nobody() -> None:
    """In the place of a reference, before there is a group."""


def _written(rank: int, stream: Path) -> WrittenStream:
    """Of a stream in segments the last, which a network's file system may show last."""
    try:
        last = segment_paths(stream)[-1]
        return WrittenStream(rank, str(last), last.stat().st_size)
    except (OSError, IndexError):  # somebody removed it
        return WrittenStream(rank)
