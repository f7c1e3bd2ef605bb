"""Encrypted provider keys of tenants. A key decrypts only for its tenant, provider and origin."""

import asyncio
import time
from collections.abc import Mapping

from sqlalchemy import delete, select

from moot.store.database import Database
from moot.store.encryption import Encryptor
from moot.store.schema.accounts import provider_key
from moot.types.accounts import StoredKey
from moot.types.errors import MissingKey, NotFound


class ProviderKeys:
    def __init__(self, database: Database, encryptor: Encryptor) -> None:
        self._database = database
        self._encryptor = encryptor
        self._pending_reads: dict[tuple[str, str, str], asyncio.Task[str | None]] = {}

    async def store_key(self, tenant: str, provider: str, origin: str, secret: str) -> None:
        """Insert or replace the key."""
        key = {
            "origin": origin,
            "sealed": self._encryptor.encrypt(secret, tenant, provider, origin),
            "created_at": time.time(),
        }
        query = self._database.insert_into(provider_key).values(tenant=tenant, provider=provider, **key)
        await self._database.execute(query.on_conflict_do_update(index_elements=["tenant", "provider"], set_=key))

    async def delete_key(self, tenant: str, provider: str) -> None:
        query = delete(provider_key).where(provider_key.c.tenant == tenant, provider_key.c.provider == provider)
        if not provider.isprintable() or not await self._database.execute(query):
            raise NotFound(f"No key is stored for {provider!r}.")

    async def list_keys(self, tenant: str) -> Mapping[str, StoredKey]:
        """Return origin and creation time by provider, without the secrets."""
        query = select(provider_key.c.provider, provider_key.c.origin, provider_key.c.created_at)
        rows = await self._database.fetch_all(query.where(provider_key.c.tenant == tenant))
        return {row.provider: StoredKey(origin=row.origin, created_at=row.created_at) for row in rows}

    async def secret(self, tenant: str, provider: str, origin: str) -> str | None:
        """Return the decrypted key, or None if there is none for this origin.

        Concurrent callers, such as the participants of one run, share one query. Raises MissingKey if decryption fails.
        """
        key = (tenant, provider, origin)
        if (task := self._pending_reads.get(key)) is None:
            task = self._pending_reads[key] = asyncio.get_running_loop().create_task(self._read_secret(*key))
            task.add_done_callback(lambda _: self._pending_reads.pop(key))
        return await asyncio.shield(task)  # a cancelled caller must not cancel the query of the others

    async def _read_secret(self, tenant: str, provider: str, origin: str) -> str | None:
        query = select(provider_key.c.sealed).where(
            provider_key.c.tenant == tenant, provider_key.c.provider == provider, provider_key.c.origin == origin
        )
        sealed = await self._database.fetch_value(query)
        if sealed is None:
            return None
        if (secret := self._encryptor.decrypt(sealed, tenant, provider, origin)) is None:
            raise MissingKey(
                f"The key stored for {provider} cannot be read: store it again with PUT /api/keys/{provider}."
            )
        return secret
