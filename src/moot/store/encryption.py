"""Encryption of stored secrets with AES-GCM. All keys derive from one secret of the installation."""

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
from moot.store.schema.server import installation
from moot.types.errors import BadSettings

SECRET_VARIABLE = "MOOT_SECRET"  # noqa: S105 - the name of a variable
SECRET_FILE = "secret"  # noqa: S105 - the name of a file
MIN_SECRET_LENGTH = 32
MIN_DISTINCT_CHARACTERS = 8
WEAK_SECRET = re.compile(r"change.?(me|this)|password|example|default|placeholder|insecure|your.?secret", re.IGNORECASE)
NONCE_BYTES = 12


class Encryptor:
    """Encrypts provider keys and headers of tool servers.

    The associated data binds a ciphertext to its row, so that it cannot be moved to another one.
    """

    def __init__(self, secret: str) -> None:
        self._cipher = AESGCM(_derive_key(secret, b"moot provider keys"))
        self._fingerprint = _derive_key(secret, b"moot fingerprint").hex()

    @classmethod
    def load_or_create(cls, folder: Path, environment: Mapping[str, str]) -> Self:
        """Read the secret from MOOT_SECRET, or else from a file in the data folder, which is created if missing.

        Raises BadSettings if the secret is weak, or if the file cannot be read or written.
        """
        if secret := environment.get(SECRET_VARIABLE, "").strip():
            return cls(_require_strong_secret(secret, SECRET_VARIABLE))
        path = folder / SECRET_FILE
        return cls(_require_strong_secret(_read_or_create_secret(path), str(path)))

    def encrypt(self, text: str, *associated_data: str) -> bytes:
        nonce = secrets.token_bytes(NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, text.encode(), msgspec.json.encode(associated_data))

    def decrypt(self, ciphertext: bytes, *associated_data: str) -> str | None:
        """Return None if the ciphertext was changed, or if the secret or the associated data is not the same."""
        try:
            return self._cipher.decrypt(
                ciphertext[:NONCE_BYTES], ciphertext[NONCE_BYTES:], msgspec.json.encode(associated_data)
            ).decode()
        except (InvalidTag, ValueError):
            return None

    async def check_database_secret(self, database: Database) -> None:
        """Raise BadSettings if the database was first used with another secret: decryption would fail.

        The first call stores a fingerprint of the secret.
        """
        mine = database.insert_into(installation).values(name="secret", value=self._fingerprint)
        async with database.write() as connection:
            await connection.execute(mine.on_conflict_do_nothing())
            known = await connection.execute(select(installation.c.value).where(installation.c.name == "secret"))
            if known.scalar_one() != self._fingerprint:
                raise BadSettings(
                    f"This database was first used with another secret. Start with that {SECRET_VARIABLE}, or that "
                    f"file {SECRET_FILE!r} in the data folder. If it is lost, the stored provider keys are lost too: "
                    "empty the table provider_key, delete 'secret' from the table installation, and store the keys "
                    "again."
                )


def _derive_key(secret: str, purpose: bytes) -> bytes:
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=purpose).derive(secret.encode())


def _require_strong_secret(secret: str, source: str) -> str:
    """Raise BadSettings if the secret looks easy to guess."""
    repeated = secret in (secret + secret)[1:-1]  # true for a repeated string, such as "abcabc"
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
            f"The secret in {path} cannot be read or created ({error}): set {SECRET_VARIABLE}."
        ) from error


def _create_secret_file(path: Path) -> None:
    """Create the file atomically. If several processes start at once, the first one wins and all read its secret."""
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
        pass  # another process created it first
    finally:
        draft.unlink()
