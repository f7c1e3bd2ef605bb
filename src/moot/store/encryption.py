"""Sealing what must not be read in the database, with keys that are derived from one secret of the installation."""

import os
import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Self

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from sqlalchemy import select

from moot.store.database import Database
from moot.store.schema import installation
from moot.types.errors import BadSettings

VARIABLE = "MOOT_SECRET"
FILE = "secret"
LENGTH = 32
DISTINCT = 8
WEAK = re.compile(
    r"change.?(me|this)|password|example|default|placeholder|insecure|your.?secret", re.IGNORECASE
)
NONCE = 12


class Sealer:
    def __init__(self, secret: str) -> None:
        self._cipher = AESGCM(_derived(secret, b"moot provider keys"))
        self._fingerprint = _derived(secret, b"moot fingerprint").hex()

    @classmethod
    def load(cls, folder: Path, environment: Mapping[str, str]) -> Self:
        """Take the secret from MOOT_SECRET, or else from a file of the data folder, made when it is missing."""
        if secret := environment.get(VARIABLE, "").strip():
            return cls(_strong(secret, VARIABLE))
        path = folder / FILE
        return cls(_strong(_read_or_make(path), str(path)))

    def seal(self, text: str, *belongs: str) -> bytes:
        nonce = secrets.token_bytes(NONCE)
        return nonce + self._cipher.encrypt(nonce, text.encode(), msgspec.json.encode(belongs))

    def open(self, sealed: bytes, *belongs: str) -> str | None:
        """Return what was sealed for exactly this use; None if it was changed, or moved from elsewhere."""
        try:
            return self._cipher.decrypt(sealed[:NONCE], sealed[NONCE:], msgspec.json.encode(belongs)).decode()
        except (InvalidTag, ValueError):
            return None

    async def check(self, database: Database) -> None:
        """See that a database was never used with another secret: what that one sealed could not be opened."""
        mine = database.insert(installation).values(name="secret", value=self._fingerprint)
        async with database.write() as connection:
            await connection.execute(mine.on_conflict_do_nothing())
            known = await connection.execute(
                select(installation.c.value).where(installation.c.name == "secret")
            )
            if known.scalar_one() != self._fingerprint:
                raise BadSettings(
                    f"This database belongs to another secret: start with the {VARIABLE}, or the file "
                    f"{FILE!r} of the data folder, that it was first used with. If that is lost, the stored "
                    "provider keys are too: empty the table provider_key, delete 'secret' from the table "
                    "installation, and store the keys again."
                )


def _derived(secret: str, purpose: bytes) -> bytes:
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=purpose).derive(secret.encode())


def _strong(secret: str, source: str) -> str:
    """Return a secret that nobody can guess, as far as can be told."""
    repeated = secret in (secret + secret)[1:-1]
    if len(secret) < LENGTH or len(set(secret)) < DISTINCT or repeated or WEAK.search(secret):
        raise BadSettings(
            f"The secret in {source} is too easy to guess: it must be at least {LENGTH} random characters. "
            'Make one with: python -c "import secrets; print(secrets.token_urlsafe(32))"'
        )
    return secret


def _read_or_make(path: Path) -> str:
    try:
        if not path.exists():
            _make(path)
        return path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BadSettings(
            f"The secret in {path} cannot be read or made ({error}): set {VARIABLE}."
        ) from error


def _make(path: Path) -> None:
    """Write a new secret whole: of several processes that start at once, one writes it and all read it."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(f"{secrets.token_urlsafe(32)}\n")
            file.flush()
            os.fsync(file.fileno())
        path.hardlink_to(draft)
    except FileExistsError:
        pass  # another one was first
    finally:
        draft.unlink()
