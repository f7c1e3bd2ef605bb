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


def test_the_least_used_key_comes_first() -> None:
    keys, (first, second), _ = make_key_ring(2)
    first.uses = 5
    assert keys.select_key(set()) is second
    assert keys.select_key({"KEY_1"}) is first
    assert keys.select_key({"KEY_0", "KEY_1"}) is None


def test_keys_cool_down_as_long_as_the_fault_says() -> None:
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


def test_a_provider_s_own_wait_counts_instead() -> None:
    keys, (first, _), clock = make_key_ring(2)
    keys.cool_down(first, make_fault("rate_limit", "slow", retry_after=5))
    clock.now += 6
    assert keys.select_key(set()) is first


def test_a_cooling_key_is_better_than_none() -> None:
    keys, (only,), _ = make_key_ring(1)
    keys.cool_down(only, make_fault("rate_limit", "slow"))
    assert keys.select_key(set()) is only
    assert keys.select_key({"KEY_0"}) is None
    assert KeyRing(()).select_key(set()) is None
    assert not KeyRing(())


def test_a_key_does_not_show_itself() -> None:
    assert "secret" not in repr(Key("KEY", "secret-1"))
