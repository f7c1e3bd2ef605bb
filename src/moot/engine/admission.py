"""Who may call a model now: so many calls a minute, of all accounts together and over all workers."""

from moot.engine.patience import patiently
from moot.store.database import Database
from moot.store.rates import Rates, Recent

NAME = "model_calls"


class Admission:
    def __init__(self, database: Database, rates: Rates, a_minute: int) -> None:
        self._alone = not database.is_postgres
        self._rates = rates
        self._recent = Recent()
        self._a_minute = a_minute

    async def wait(self) -> float | None:
        """Count a call; return None if it may be made, or else after how many seconds to ask again.

        A file has one worker: it counts in memory, and no call waits for the disk.
        """
        if self._alone:
            return self._recent.take(NAME, self._a_minute)
        return await patiently(lambda: self._rates.take(NAME, self._a_minute))
