"""Ctrl-C handling: the first stops the run and keeps its answers, the second ends the process."""

import asyncio
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from moot.streaming.cancellation import StopSignal


@contextmanager
def stop_on_ctrl_c(stop: StopSignal) -> Iterator[None]:
    loop = asyncio.get_running_loop()

    def stop_once() -> None:
        loop.remove_signal_handler(signal.SIGINT)
        stop.request_stop()

    with on_ctrl_c(stop_once):
        yield


@contextmanager
def on_ctrl_c(callback: Callable[[], object]) -> Iterator[None]:
    """Call `callback` on each Ctrl-C. On Windows it raises KeyboardInterrupt instead."""
    loop = asyncio.get_running_loop()
    try:
        loop.add_signal_handler(signal.SIGINT, callback)
    except NotImplementedError:  # Windows
        yield
        return
    try:
        with _disable_echo():
            yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)


@contextmanager
def _disable_echo() -> Iterator[None]:
    """Stop the terminal from echoing ^C, which would shift the live output."""
    import termios

    try:
        before = termios.tcgetattr(sys.stdin)
    except (termios.error, TypeError, ValueError, OSError):  # not a terminal
        yield
        return
    quiet = [*before[:3], before[3] & ~termios.ECHOCTL, *before[4:]]
    termios.tcsetattr(sys.stdin, termios.TCSADRAIN, quiet)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
