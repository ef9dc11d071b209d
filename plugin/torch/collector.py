"""The collector of one process: armed when torch is imported, at work from the first collective to the exit."""

import atexit
import multiprocessing.util
import os
import sys
import threading
import time
import uuid
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist

from hocket.base import processes
from hocket.plugin.torch.batches import watch_batches
from hocket.plugin.torch.clock import ClockServer, Offset, OffsetMeter, measure_offset, read_clocks
from hocket.plugin.torch.compiling import stay_uncompiled
from hocket.plugin.torch.completions import Completions
from hocket.plugin.torch.futures import watch_futures
from hocket.plugin.torch.groups import watch_destroyed
from hocket.plugin.torch.hook_choice import choose_hook
from hocket.plugin.torch.profiling import OperatorProfiler
from hocket.plugin.torch.sections import watch_sections
from hocket.plugin.torch.steps import StepCounter
from hocket.recording.folder import make_folder, operators_path, set_aside, stream_path
from hocket.recording.settings import OUT_VARIABLE, Settings
from hocket.recording.stream import FORMAT, record

__all__ = ["Collector", "arm", "mark_step"]

# Where the job's store is older than this attempt at the job, its keys begin with these.
_ATTEMPT = ("TORCHELASTIC_RUN_ID", "MASTER_PORT", "TORCHELASTIC_RESTART_COUNT")
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
    """Hooks this process's collectives; opens its stream at the first; at the exit closes it, and on rank 0 merges."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.folder = make_folder(settings.out)
        self._completions = Completions() if settings.completion else None
        watch = None if self._completions is None else self._completions.add
        self._hook, self._remark = choose_hook(settings.hook, settings.stacks, watch)
        self._profiler = OperatorProfiler() if settings.ops else None
        self.steps = StepCounter(settings, self._select)
        self._starting, self._started = threading.RLock(), False
        if os.environ.get("RANK") == "0":
            atexit.register(self._say_if_idle, os.getpid())
        self._hook.install(self._start)
        watch_batches(self._hook)
        watch_sections(self._hook)
        watch_futures(self._hook)
        watch_destroyed(self._hook.forget_groups)
        stay_uncompiled()

    def _select(self, recorded: bool) -> None:
        self._hook.select(recorded)
        if self._profiler is not None:
            self._profiler.select(recorded)

    def _start(self) -> None:
        with self._starting:  # several threads may issue their first
            if self._started:
                return
            self._started = True
            try:
                self._open()
            except Exception as error:  # a full disk, say, is no reason for the job to fail
                print(f"hocket: cannot collect into {self.folder}: {error}", file=sys.stderr)

    def _say_if_idle(self, process: int) -> None:
        if not self._started and os.getpid() == process:
            print(f"hocket: nothing is collected into {self.folder}: rank 0 issued no collective", file=sys.stderr)

    def _open(self) -> None:
        self._rank, self._world = dist.get_rank(), dist.get_world_size()
        self._process = os.getpid()
        self._store = self._connect()
        earlier = set_aside(self.folder, self._rank)  # should this job die, nobody must take those traces for its own
        if earlier is not None and self._rank == 0:
            print(f"hocket: {self.folder}: what an earlier job collected is now in {earlier}", file=sys.stderr)
        self._stream = self._hook.open(stream_path(self.folder, self._rank))
        epoch_ns, perf_ns = read_clocks()
        self._stream.write(
            record(
                "meta",
                format=FORMAT,
                rank=self._rank,
                world=self._world,
                job=self._store.compare_set("hocket/job", "", uuid.uuid4().hex).decode(),  # the first rank's word
                boot=Path("/proc/sys/kernel/random/boot_id").read_text().strip(),
                pid=self._process,
                torch=torch.__version__,
                script=Path(sys.argv[0]).name,
                epoch_ns=epoch_ns,
                perf_ns=perf_ns,
                step=self.steps.number,
                hook=self._remark,
            )
        )
        self.steps.stream = self._stream
        if self._completions is not None:
            self._completions.open(self._stream)
        if self._profiler is not None:
            self._profiler.open(operators_path(self.folder, self._rank), self._stream)
        os.register_at_fork(after_in_child=self._stream.abandon)
        if self._world > 1:
            connection = self._connect()
            self._clock = OffsetMeter(connection, self._write_offset) if self._rank else ClockServer(connection)
        atexit.register(self._close)
        if multiprocessing.parent_process() is not None:  # a process that multiprocessing forked skips atexit
            multiprocessing.util.Finalize(None, self._close, exitpriority=0)

    def _connect(self) -> dist.Store:
        """A connection of our own to the job's store: waiting on the job's would block the job."""
        store = self._job_store = dist.distributed_c10d._get_default_store()  # kept: rank 0's may be the server
        if hasattr(store, "clone"):
            return store.clone()
        while isinstance(store, dist.PrefixStore):  # torch 2.6 and older
            store = store.underlying_store
        if isinstance(store, dist.TCPStore):
            store = dist.TCPStore(store.host, store.port, is_master=False, wait_for_workers=False)
        return dist.PrefixStore(":".join(os.environ.get(name, "") for name in _ATTEMPT), store)

    def _write_offset(self, offset: Offset) -> None:
        self._stream.write(record("clock", **offset._asdict()))

    def _close(self) -> None:
        if os.getpid() != self._process:  # a child that the script forked
            return
        self._process = 0  # once
        if self._profiler is not None:
            self._profiler.close()
        if self._completions is not None:
            self._completions.close()
        failed = hasattr(sys, "last_value")  # an exception ends the script
        if self._rank > 0:
            with suppress(dist.DistError):  # the store may be gone with rank 0, or with torchrun
                self._clock.stop(self._store)
                offset = None if failed else measure_offset(self._store, _LAST_PATIENCE)
                if offset is not None:
                    self._write_offset(offset)
        self._stream.write(record("end", t=time.perf_counter_ns(), ok=not failed))
        self._stream.close()
        if self._world > 1:
            with suppress(dist.DistError):
                self._part(failed)
        if failed and self._rank == 0:
            print(f"hocket: recorded until the error; to merge: hocket collect merge {self.folder}", file=sys.stderr)
        elif self._rank == 0:
            self._merge()

    def _part(self, failed: bool) -> None:
        """Tells rank 0, which waits for the others unless its script failed. Raises DistError without a store."""
        if self._rank > 0:
            self._store.set(f"hocket/ended/{self._rank}", "")
            return
        if not failed:
            try:
                ended = [f"hocket/ended/{rank}" for rank in range(1, self._world)]
                self._store.wait(ended, timedelta(seconds=self.settings.timeout))
            except dist.DistError:
                print("hocket: not every rank ended in time; merging what there is", file=sys.stderr)
        self._clock.stop(self._store)

    def _merge(self) -> None:
        """In a process of its own: the job's memory and state of mind are no place for it."""
        command = [sys.executable, "-m", "hocket", "collect", "merge", str(self.folder)]
        sys.stdout.flush()
        environment = {name: value for name, value in os.environ.items() if not name.startswith(OUT_VARIABLE)}
        processes.run(command, env=environment, tied=False)
