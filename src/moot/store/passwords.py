"""Passwords as argon2id hashes. Hashing is slow and takes memory on purpose: it runs beside the loop, a few at a time."""

import asyncio
from functools import partial

from argon2 import PasswordHasher
from argon2.exceptions import VerificationError
from argon2.profiles import RFC_9106_LOW_MEMORY

HASHER = PasswordHasher.from_parameters(RFC_9106_LOW_MEMORY)
AT_ONCE = 2  # each takes 64 MiB

# Checked for names that nobody has, so that they take as long as the others.
NOBODY = "$argon2id$v=19$m=65536,t=3,p=4$vLS2rDosSrwST/+ct6xFBg$GuYuKKgeJkoTczdafdReX0tOl/BQyBA4o4eMU0MdJW0"


class Passwords:
    def __init__(self) -> None:
        self._hashing = asyncio.Semaphore(AT_ONCE)

    async def hash(self, password: str) -> str:
        async with self._hashing:
            return await asyncio.to_thread(partial(HASHER.hash, password))

    async def match(self, hash: str | None, password: str) -> bool:
        """Tell whether a password is the one of a hash; without a hash it never is, after the same work."""
        async with self._hashing:
            right = await asyncio.to_thread(_verify, hash or NOBODY, password)
        return right and hash is not None


def _verify(hash: str, password: str) -> bool:
    try:
        return HASHER.verify(hash, password)
    except VerificationError:
        return False
