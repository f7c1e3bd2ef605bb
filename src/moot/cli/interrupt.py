"""Ctrl-C: the first one stops the run and keeps what came, a second one ends the process."""

import asyncio
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from moot.streaming.cancellation import StopSignal


@contextmanager
def stop_on_ctrl_c(stop: StopSignal) -> Iterator[None]:
    running = asyncio.get_running_loop()

    def stop_once() -> None:
        running.remove_signal_handler(signal.SIGINT)
        stop.request_stop()

    with on_ctrl_c(stop_once):
        yield


@contextmanager
def on_ctrl_c(callback: Callable[[], None]) -> Iterator[None]:
    """Call something at every Ctrl-C, instead of ending."""
    running = asyncio.get_running_loop()
    try:
        running.add_signal_handler(signal.SIGINT, callback)
    except NotImplementedError:  # Windows: Ctrl-C raises KeyboardInterrupt instead
        yield
        return
    try:
        with _disable_echo():
            yield
    finally:
        running.remove_signal_handler(signal.SIGINT)


@contextmanager
def _disable_echo() -> Iterator[None]:
    """Keep the terminal from printing ^C, which would shift what is drawn there."""
    import termios

    try:
        before = termios.tcgetattr(sys.stdin)
    except (termios.error, TypeError, ValueError, OSError):  # no terminal
        yield
        return
    quiet = [*before[:3], before[3] & ~termios.ECHOCTL, *before[4:]]
    termios.tcsetattr(sys.stdin, termios.TCSADRAIN, quiet)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
