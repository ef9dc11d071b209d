"""Writes calls down when they are issued: their shapes, groups, batches, and what of them a graph captures."""

import itertools
import threading
import time
from collections.abc import Callable

from hocket.plugin.torch import interfaces
from hocket.plugin.torch.captures import Captures
from hocket.plugin.torch.groups import CollectedGroup, GroupWriter
from hocket.plugin.torch.hook import LIMIT
from hocket.plugin.torch.python.describe import Arguments, describer, stream_of, tensor_reader
from hocket.plugin.torch.python.output import HookOutput, WrittenAddresses
from hocket.plugin.torch.signature import Signature
from hocket.recording.stream import MappedStream, record

__all__ = ["CallWriter"]

_clock = time.perf_counter_ns


class CallWriter:
    """Gives calls their numbers and writes those down that are to be recorded."""

    def __init__(self, output: HookOutput, written: WrittenAddresses, find_line: Callable[[], str] | None) -> None:
        self.recording = False
        self.captures = Captures()
        self._groups: GroupWriter | None = None
        self._output = output
        self._written = written
        self._find_line = find_line
        self._described = 0  # the stream's generation that has the descriptions of _shapes
        self._ids = itertools.count()
        self._shape_ids = itertools.count()
        self._batch_ids = itertools.count()
        self._shapes: dict[str, int] = {}
        self._held = threading.local()

    def open(self, stream: MappedStream) -> None:
        """Calls are written to this stream from now on, as if none had been before."""
        self._shapes.clear()
        self._groups = GroupWriter(stream)

    def abandon(self) -> None:
        """In a forked child: no call is recorded without groups."""
        self._groups = None
        self.captures = Captures()

    @property
    def groups(self) -> GroupWriter:
        """Those of calls that were recorded, or captured."""
        assert self._groups is not None  # else there are no such calls
        return self._groups

    def begin_batch(self) -> None:
        """What this thread issues until `end_batch` is one batch of messages."""
        self._held.batch, self._held.batch_last = next(self._batch_ids), None

    def end_batch(self) -> int | None:
        """The last message of the batch."""
        last: int | None = self._held.batch_last
        self._held.batch = None
        return last

    def batch(self) -> int | None:
        """The batch that this thread issues."""
        return getattr(self._held, "batch", None)

    def forget_last(self) -> None:
        """Before a call, to see whether it is recorded."""
        self._held.last = None

    def last(self) -> int | None:
        """What this thread has recorded since `forget_last`."""
        last: int | None = self._held.last
        return last

    def issuer(self, signature: Signature) -> Callable[[Arguments, bool], int | None]:
        """What writes calls of an operator down."""
        describe, outputs, find_line = describer(signature), tensor_reader(signature.output), self._find_line
        group_index, numbered = signature.group, signature.numbered
        ids, shapes, held, unbox_group = self._ids, self._shapes, self._held, interfaces.UNBOX_GROUP.need()
        output, written, is_captured = self._output, self._written, self._capturer(signature)

        def issue(arguments: Arguments, is_async: bool) -> int | None:
            """Writes the call down and returns its number; None when it is not one of those to record."""
            groups = self._groups
            if groups is None:
                return None
            try:
                group = groups.find(unbox_group(arguments[group_index]))
                sequence = next(group.sequence) if numbered else 0
                capturing = bool(self.captures)
                text = ""
                if self.recording or capturing:
                    text = describe(arguments, group, is_async)
                    if find_line is not None and (line := find_line()):
                        text += f',"at":"{line}"'
                if (capturing and is_captured(arguments, text, group)) or not self.recording:
                    if is_async and signature.addressed and written:
                        written.forget(outputs(arguments))
                    return None
                stream = output.stream
                assert stream is not None  # there are groups
                with stream.lock:  # a segment has its shapes
                    stream.make_room()
                    if self._described != stream.generation:
                        self._described = stream.generation
                        shapes.clear()
                    shape = shapes.get(text)
                    if shape is None:
                        shape = self._add_shape(text)
                    identifier = next(ids)
                    if is_async and signature.addressed:
                        written.note(outputs(arguments), identifier)
                    output.write(f"c {identifier} {shape} {sequence} {_clock()} {output.thread()}\n")
                held.last = identifier
                if not numbered and (batch := self.batch()) is not None:
                    held.batch_last = identifier
                    output.write(f"b {identifier} {batch}\n")
                return identifier
            except Exception as error:  # must not stop the job: it becomes a line in the stream
                output.write(record("error", op=signature.op, message=repr(error)))
                return None

        return issue

    def _capturer(self, signature: Signature) -> Callable[[Arguments, str, CollectedGroup], bool]:
        """Whether a call of an operator, whose shape and group are known, is captured in a graph."""
        inputs, outputs = tensor_reader(signature.input), tensor_reader(signature.output)

        def is_captured(arguments: Arguments, shape: str, group: CollectedGroup) -> bool:
            stream = stream_of(outputs(arguments) or inputs(arguments))
            if stream is None:
                return False
            batch = None if signature.numbered else self.batch()
            counted = group.id if signature.numbered else None
            return self.captures.take(self._output.thread(), stream, shape, -1 if batch is None else batch, counted)

        return is_captured

    def _add_shape(self, text: str) -> int:
        if len(self._shapes) >= LIMIT:
            self._shapes.clear()
        number = next(self._shape_ids)
        self._output.write(f'{{"k":"shape","id":{number},{text}}}\n')
        self._shapes[text] = number
        return number
