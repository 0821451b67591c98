"""Work shared out to processes that use one thread each, so that sums round alike however many there are."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from multiprocessing import get_context
from threading import Lock
from typing import Any

from fairroc.cli.output import progress_bar
from fairroc.errors import FairrocError

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def in_order(work: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], processes: int | None = None) -> list[Any]:
    """What ``work(*task)`` gives for each task, in the order of the tasks, with a bar on a terminal."""
    found: list[Any] = [None] * len(tasks)
    with progress_bar("jobs", patience=0.0) as show:
        for done, (number, result) in enumerate(as_completed(work, tasks, processes), 1):
            found[number] = result
            show(done, len(tasks))
    return found


def as_completed(
    work: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], processes: int | None = None
) -> Generator[tuple[int, Any], None, None]:
    """Numbers of tasks and what ``work(*task)`` gave, as they end; closed early, no further task is begun.

    ``processes`` at a time (None: one for each core); with one, all is done in this process.
    """
    processes = min(processes or os.cpu_count() or 1, len(tasks))
    if processes <= 1:
        yield from ((number, work(*task)) for number, task in enumerate(tasks))
        return
    with _single_threaded():
        pool = ProcessPoolExecutor(processes, get_context("spawn"))
        try:
            yield from _shared_out(pool, processes, work, tasks)
        except BrokenProcessPool:
            raise FairrocError(
                "a process of the run was ended from outside, perhaps for lack of memory. Run again with fewer of them "
                "(--jobs 1); what is done is kept."
            ) from None
        finally:
            pool.shutdown(cancel_futures=True)


def _shared_out(
    pool: Executor, processes: int, work: Callable[..., Any], tasks: Sequence[tuple[Any, ...]]
) -> Iterator[tuple[int, Any]]:
    """Every process gets a task when it has none, not before: whoever stops a run waits for no task in a queue."""
    ahead, running = iter(enumerate(tasks)), dict[Future[Any], int]()
    while True:
        for number, task in islice(ahead, processes - len(running)):
            running[pool.submit(work, *task)] = number
        if not running:
            return
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            yield running.pop(future), future.result()


class Steps:
    """Counts what ends, in any thread, and tells ``show(done, all)``."""

    def __init__(self, show: Callable[[int, int], None] | None, total: int) -> None:
        self.show, self.total, self.done, self.lock = show, total, 0, Lock()
        self.add(0)

    def add(self, ended: int = 1) -> None:
        with self.lock:
            self.done += ended
            if self.show is not None and self.total:
                self.show(self.done, self.total)


@contextmanager
def _single_threaded() -> Iterator[None]:
    """Processes started here use one thread each."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
