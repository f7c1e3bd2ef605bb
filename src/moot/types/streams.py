"""Streams of batches, with a heartbeat while there is nothing new."""

from collections.abc import AsyncGenerator
from typing import Final, TypeAlias, TypeVar

T = TypeVar("T")


class Heartbeat(tuple[()]):
    """An item of a stream that means: the stream is open, and nothing is new.

    It iterates like an empty batch, so readers that only want the contents need no case for it.
    """

    __slots__ = ()


HEARTBEAT: Final = Heartbeat()

BatchStream: TypeAlias = AsyncGenerator[list[T] | Heartbeat, None]
