from moot.providers.keys import Key, KeyRing
from moot.types.faults import make_fault


class FakeClock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def make_key_ring(count: int) -> tuple[KeyRing, list[Key], FakeClock]:
    clock = FakeClock()
    keys = [Key(f"KEY_{n}", f"secret-{n}") for n in range(count)]
    return KeyRing(tuple(keys), clock), keys, clock


def test_select_key_prefers_least_used_key() -> None:
    keys, (first, second), _ = make_key_ring(2)
    first.uses = 5
    assert keys.select_key(set()) is second
    assert keys.select_key({"KEY_1"}) is first
    assert keys.select_key({"KEY_0", "KEY_1"}) is None


def test_cool_down_lasts_as_long_as_fault_kind_requires() -> None:
    keys, (first, second), clock = make_key_ring(2)
    keys.cool_down(first, make_fault("rate_limit", "slow"))
    assert keys.select_key(set()) is second
    clock.now += 59
    assert keys.select_key(set()) is second
    clock.now += 2
    assert keys.select_key(set()) is first
    keys.cool_down(first, make_fault("auth", "wrong"))
    clock.now += 299
    assert keys.select_key(set()) is second
    clock.now += 2
    assert keys.select_key(set()) is first


def test_cool_down_uses_retry_after_of_provider() -> None:
    keys, (first, _), clock = make_key_ring(2)
    keys.cool_down(first, make_fault("rate_limit", "slow", retry_after=5))
    clock.now += 6
    assert keys.select_key(set()) is first


def test_select_key_returns_cooling_key_when_no_other_is_left() -> None:
    keys, (only,), _ = make_key_ring(1)
    keys.cool_down(only, make_fault("rate_limit", "slow"))
    assert keys.select_key(set()) is only
    assert keys.select_key({"KEY_0"}) is None
    assert KeyRing(()).select_key(set()) is None
    assert not KeyRing(())


def test_key_repr_hides_secret() -> None:
    assert "secret" not in repr(Key("KEY", "secret-1"))
