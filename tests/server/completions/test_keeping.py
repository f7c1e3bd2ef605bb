import pytest

from moot.model.chunks import Usage
from moot.model.errors import Conflict
from moot.server.completions.keeping import Keeping
from moot.server.completions.wire import Answer, Asked, Choice, Completion, Said, used
from tests.server.talking import Talking

ASKED = Asked(model="moot/single", messages=(Said(role="user", content="Why?"),))
REPLY = Completion(
    id="chatcmpl_1",
    created=1,
    model="moot/single",
    choices=(Choice(message=Answer(content="So."), finish_reason="stop"),),
    usage=used(Usage()),
)


def keeping(here: Talking, key: str | None = "k") -> Keeping:
    return Keeping(here.house.database, "local", key)


async def test_a_reply_is_kept_under_its_key(here: Talking) -> None:
    first = keeping(here)
    assert await first.earlier(ASKED) is None
    await first.keep(REPLY)
    await first.give_back()
    assert await keeping(here).earlier(ASKED) == REPLY


async def test_while_one_is_being_answered_another_is_not(here: Talking) -> None:
    assert await keeping(here).earlier(ASKED) is None
    second = keeping(here)
    with pytest.raises(Conflict, match="still being answered"):
        await second.earlier(ASKED)
    await second.give_back()  # which was never its own
    with pytest.raises(Conflict):
        await keeping(here).earlier(ASKED)


async def test_a_key_of_which_nothing_came_may_be_used_again(here: Talking) -> None:
    first = keeping(here)
    assert await first.earlier(ASKED) is None
    await first.give_back()
    assert await keeping(here).earlier(ASKED) is None


async def test_without_a_key_nothing_is_kept(here: Talking) -> None:
    none = keeping(here, None)
    assert await none.earlier(ASKED) is None
    await none.keep(REPLY)
    assert await keeping(here, None).earlier(ASKED) is None
