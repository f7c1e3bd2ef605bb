"""What goes wrong with requests, on demand: before anything is done with them, or after."""

from typing import Literal

from msgspec import Struct

Kind = Literal[
    "rate",  # 429, and when to try again
    "cloudflare",  # 429 of whoever stands before Discord
    "broken",  # 502, and nothing was done
    "done_and_broken",  # 502, although it was done
    "lost",  # done, and the connection breaks before the answer
]


class Fault(Struct):
    """The next `times` requests whose method and path begin so go wrong in this way, after `skip` that do not."""

    begins: str
    kind: Kind
    times: int = 1
    skip: int = 0
    retry_after: float = 0.05


class Faults:
    def __init__(self) -> None:
        self._due: list[Fault] = []

    def add(self, begins: str, kind: Kind, times: int = 1, skip: int = 0) -> None:
        self._due.append(Fault(begins, kind, times, skip))

    def take(self, request: str) -> Fault | None:
        """Find out whether a request, such as `POST /channels/…`, goes wrong."""
        for fault in self._due:
            if request.startswith(fault.begins):
                if fault.skip:
                    fault.skip -= 1
                    continue
                fault.times -= 1
                if not fault.times:
                    self._due.remove(fault)
                return fault
        return None
