import asyncio
import sys

import pytest

from moot.app import event_loop


async def running_loop_module() -> str:
    return type(asyncio.get_running_loop()).__module__


@pytest.mark.skipif(sys.platform == "win32", reason="there is no uvloop for Windows")
def test_run_coroutine_uses_uvloop() -> None:
    assert event_loop.run_coroutine(running_loop_module()).startswith("uvloop")


def test_run_coroutine_uses_asyncio_loop_without_uvloop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvloop", None)
    assert event_loop.run_coroutine(running_loop_module()).startswith("asyncio")


def test_run_coroutine_propagates_exception() -> None:
    async def raise_error() -> int:
        raise LookupError("round table")

    with pytest.raises(LookupError, match="round table"):
        event_loop.run_coroutine(raise_error())
