"""Passwords that are hashed in no time, for tests of something else.

`tests/store/accounts/test_passwords.py` has the real cost.
"""

import pytest
from argon2 import PasswordHasher

from moot.store.accounts import accounts

FAST_HASHER = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
FAST_DUMMY_HASH = FAST_HASHER.hash("nobody at all")


@pytest.fixture(autouse=True)
def fast_password_hashing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accounts, "HASHER", FAST_HASHER)
    monkeypatch.setattr(accounts, "DUMMY_HASH", FAST_DUMMY_HASH)
