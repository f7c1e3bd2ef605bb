"""Nothing is lost when a server is killed, told to end, or has no disk: shown with real processes."""

import asyncio
from pathlib import Path

import pytest

from tests.chaos import seeded, site, turns
from tests.databases import KINDS, Kind


@pytest.mark.parametrize("kind", KINDS)
async def test_runs_go_on_wherever_they_were_killed(kind: Kind, tmp_path: Path) -> None:
    with seeded(25) as chance:
        async with site(kind, tmp_path, servers=1 if kind == "sqlite" else 2) as here:
            parallel = await here.open("parallel", "steady-a", "brisk-b", "steady-c")
            consensus = await here.open("consensus", "steady-d", "brisk-e", rounds=4)
            short = await here.open("consensus", "quick-f", "quick-g", rounds=10)
            first = await here.open("single", "quick-h", "quick-i")
            await first.ended()
            going_on = await here.go_on(first.discussion, 40)
            readers = [parallel, consensus, short, going_on]
            kills = 0
            while kills < 6 and not all(reader.over for reader in readers):
                await asyncio.sleep(chance.uniform(0.05, 1.5))
                server = chance.choice(here.up())
                server.kill()
                kills += 1
                await server.start()
            assert [await reader.ended() for reader in readers] == ["completed"] * 4
            assert turns(await parallel.check()) == [("beta", 0), ("alpha", 0), ("gamma", 0)]
            print(kills, [len(r.events) for r in readers], len(here.ledger.calls))
            assert len(await consensus.check()) == 8
            assert len(await short.check()) == 20
            assert len(await going_on.check()) == 40
