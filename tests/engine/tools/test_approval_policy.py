from moot.engine.tools.approval_policy import NoConsent, Wanted
from moot.types.events import Seat


async def test_where_nobody_can_be_asked_nothing_is_allowed() -> None:
    nobody = NoConsent()
    wanted = Wanted(call_id="call_1", tool="notes/write", arguments="{}", seat=Seat("alpha"))
    await nobody.ask(wanted)
    await nobody.begin(wanted)
    assert await nobody.standing(wanted) == "wanted"
    assert await nobody.answer(wanted) is None  # type: ignore[func-returns-value]
