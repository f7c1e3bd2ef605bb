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

SECRET_VARIABLE = "MOOT_SECRET"  # noqa: S105 - the name of a variable
SECRET_FILE = "secret"  # noqa: S105 - the name of a file
MIN_SECRET_LENGTH = 32
MIN_DISTINCT_CHARACTERS = 8
WEAK_SECRET = re.compile(
    r"change.?(me|this)|password|example|default|placeholder|insecure|your.?secret", re.IGNORECASE
)
NONCE_BYTES = 12


class Encryptor:
    def __init__(self, secret: str) -> None:
        self._cipher = AESGCM(_derive_key(secret, b"moot provider keys"))
        self._fingerprint = _derive_key(secret, b"moot fingerprint").hex()

    @classmethod
    def load_or_create(cls, folder: Path, environment: Mapping[str, str]) -> Self:
        """Take the secret from MOOT_SECRET, or else from a file of the data folder, made when it is missing."""
        if secret := environment.get(SECRET_VARIABLE, "").strip():
            return cls(_require_strong_secret(secret, SECRET_VARIABLE))
        path = folder / SECRET_FILE
        return cls(_require_strong_secret(_read_or_create_secret(path), str(path)))

    def encrypt(self, text: str, *associated_data: str) -> bytes:
        nonce = secrets.token_bytes(NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, text.encode(), msgspec.json.encode(associated_data))

    def decrypt(self, ciphertext: bytes, *associated_data: str) -> str | None:
        """Return what was sealed for exactly this use; None if it was changed, or moved from elsewhere."""
        try:
            return self._cipher.decrypt(
                ciphertext[:NONCE_BYTES], ciphertext[NONCE_BYTES:], msgspec.json.encode(associated_data)
            ).decode()
        except (InvalidTag, ValueError):
            return None

    async def check_database_secret(self, database: Database) -> None:
        """See that a database was never used with another secret: what that one sealed could not be opened."""
        mine = database.insert_into(installation).values(name="secret", value=self._fingerprint)
        async with database.write() as connection:
            await connection.execute(mine.on_conflict_do_nothing())
            known = await connection.execute(
                select(installation.c.value).where(installation.c.name == "secret")
            )
            if known.scalar_one() != self._fingerprint:
                raise BadSettings(
                    f"This database belongs to another secret: start with the {SECRET_VARIABLE}, or the file "
                    f"{SECRET_FILE!r} of the data folder, that it was first used with. If that is lost, the stored "
                    "provider keys are too: empty the table provider_key, delete 'secret' from the table "
                    "installation, and store the keys again."
                )


def _derive_key(secret: str, purpose: bytes) -> bytes:
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=purpose).derive(secret.encode())


def _require_strong_secret(secret: str, source: str) -> str:
    """Return a secret that nobody can guess, as far as can be told."""
    repeated = secret in (secret + secret)[1:-1]
    if (
        len(secret) < MIN_SECRET_LENGTH
        or len(set(secret)) < MIN_DISTINCT_CHARACTERS
        or repeated
        or WEAK_SECRET.search(secret)
    ):
        raise BadSettings(
            f"The secret in {source} is too easy to guess: it must be at least {MIN_SECRET_LENGTH} random characters. "
            'Make one with: python -c "import secrets; print(secrets.token_urlsafe(32))"'
        )
    return secret


def _read_or_create_secret(path: Path) -> str:
    try:
        if not path.exists():
            _create_secret_file(path)
        return path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BadSettings(
            f"The secret in {path} cannot be read or made ({error}): set {SECRET_VARIABLE}."
        ) from error


def _create_secret_file(path: Path) -> None:
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
