"""Passwords that are hashed in no time, for tests of something else: tests/store/test_passwords.py has the real cost."""

import pytest
from argon2 import PasswordHasher

from moot.store.accounts import credentials

QUICK = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
NOBODY = QUICK.hash("nobody at all")


@pytest.fixture(autouse=True)
def quick_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(credentials, "HASHER", QUICK)
    monkeypatch.setattr(credentials, "DUMMY_HASH", NOBODY)
