"""Accounts with passwords, sessions and API tokens. Only hashes of secrets are stored."""

import asyncio
import hashlib
import secrets
import time
from collections.abc import Collection, Sequence

import msgspec
from argon2 import PasswordHasher
from argon2.exceptions import VerificationError
from argon2.profiles import RFC_9106_LOW_MEMORY
from sqlalchemy import (
    ColumnElement,
    CompoundSelect,
    Select,
    Table,
    delete,
    func,
    insert,
    or_,
    select,
    union_all,
    update,
)
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from moot.store.database import Database
from moot.store.schema.accounts import account, session, tenant, token
from moot.types.accounts import (
    LOCAL_ACCOUNT,
    Account,
    Caller,
    CredentialKind,
    Token,
    check_account_name,
    check_password,
)
from moot.types.errors import Conflict, NotFound, Unauthorized, not_found
from moot.types.primitives import new_id

SESSION_SECONDS = 30 * 24 * 3600
TOKEN_PREFIX = "moot_"  # noqa: S105 - a prefix, so that a leaked token is recognized
MAX_API_TOKENS = 100
CREDENTIALS_PER_QUERY = 10_000  # both databases accept 32,766 parameters per query

HASHER = PasswordHasher.from_parameters(RFC_9106_LOW_MEMORY)
MAX_CONCURRENT_HASHES = 2  # each needs 64 MiB

# Verified for unknown names, so that the response time does not show which names exist.
DUMMY_HASH = "$argon2id$v=19$m=65536,t=3,p=4$vLS2rDosSrwST/+ct6xFBg$GuYuKKgeJkoTczdafdReX0tOl/BQyBA4o4eMU0MdJW0"

ACCOUNT_COLUMNS = [account.c[name] for name in Account.__struct_fields__]
TOKEN_COLUMNS = [token.c[name] for name in Token.__struct_fields__]


class Accounts:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._passwords = Passwords()

    async def create_account(self, name: str, password: str, tenant: str | None = None) -> Account:
        """Create an account in `tenant`, given by id or name; None creates a tenant.

        Raises Conflict if the name is in use, NotFound if there is no such tenant.
        """
        check_account_name(name)
        check_password(password)
        if name == LOCAL_ACCOUNT:
            raise Conflict(f"name: {LOCAL_ACCOUNT!r} is the account of this machine's user. Choose another name.")
        hashed = await self._passwords.hash_password(password)
        try:
            async with self._database.write() as connection:
                tenant_id = await _find_tenant(connection, tenant) if tenant else await _insert_tenant(connection, name)
                new = Account(id=new_id("account"), tenant=tenant_id, name=name, created_at=time.time())
                values = msgspec.structs.asdict(new)
                await connection.execute(insert(account).values(**values, password=hashed))
        except IntegrityError:
            raise Conflict(f"There is already an account called {name!r}.") from None
        return new

    async def list_accounts(self) -> Sequence[Account]:
        return await self._database.fetch_structs(Account, select(*ACCOUNT_COLUMNS).order_by(account.c.name))

    async def has_no_logins(self) -> bool:
        """Return whether no account has a password. The local account never has one."""
        query = select(account.c.id).where(account.c.password.is_not(None)).limit(1)
        return await self._database.fetch_first(query) is None

    async def set_password(self, name: str, password: str) -> None:
        """Change a password, and delete all sessions and tokens of the account. Raises NotFound."""
        check_password(password)
        hashed = await self._passwords.hash_password(password)
        query = update(account).where(account.c.name == name).values(password=hashed).returning(account.c.id)
        async with self._database.write() as connection:
            changed = (await connection.execute(query)).scalar()
            if changed is None:
                raise NotFound(f"There is no account called {name!r}.")
            await connection.execute(delete(session).where(session.c.account == changed))
            await connection.execute(delete(token).where(token.c.account == changed))

    async def delete_account(self, name: str) -> Account:
        """Delete an account with its sessions and tokens. The data of its tenant stays. Raises NotFound."""
        query = delete(account).where(account.c.name == name).returning(*ACCOUNT_COLUMNS)
        async with self._database.write() as connection:
            row = (await connection.execute(query)).mappings().first()
        if row is None:
            raise NotFound(f"There is no account called {name!r}.")
        return Account(**row)

    async def login(self, name: str, password: str) -> tuple[str, Caller]:
        """Create a session and return its secret, of which only the hash is stored. Raises Unauthorized."""
        query = select(*ACCOUNT_COLUMNS, account.c.password).where(account.c.name == name)
        found = await self._database.fetch_first(query) if name.isprintable() else None
        if not await self._passwords.verify_password(found.password if found else None, password) or found is None:
            raise _wrong_credentials()
        secret = secrets.token_urlsafe(32)
        async with self._database.write() as connection:
            # The password may have changed since the check, which takes long.
            if not await lock_account(connection, found.id, account.c.password == found.password):
                raise _wrong_credentials()
            await _insert_session(connection, found.id, hash_secret(secret))
        return secret, _make_caller(found.id, found.tenant, found.name, "session", hash_secret(secret))

    async def logout(self, caller: Caller) -> None:
        await self._database.execute(delete(session).where(session.c.hash == caller.credential))

    async def caller_of_session(self, secret: str) -> Caller | None:
        return await self._find_caller("session", hash_secret(secret), session_owner_query(hash_secret(secret)))

    async def caller_of_token(self, secret: str) -> Caller | None:
        return await self._find_caller("token", hash_secret(secret), token_owner_query(hash_secret(secret)))

    async def create_token(self, caller: Caller, name: str) -> tuple[str, Token]:
        """Return the secret, of which only the hash is stored, and the token.

        Raises Unauthorized if the caller was logged out meanwhile, Conflict if there are too many tokens.
        """
        secret = TOKEN_PREFIX + secrets.token_urlsafe(32)
        new = Token(id=new_id("token"), name=name, created_at=time.time())
        values = {**msgspec.structs.asdict(new), "account": caller.account, "hash": hash_secret(secret)}
        mine = select(func.count()).where(token.c.account == caller.account)
        async with self._database.write() as connection:
            if not await lock_account(connection, caller.account) or not await is_credential_valid(connection, caller):
                raise Unauthorized("These credentials are no longer valid: log in again.")
            if (await connection.execute(mine)).scalar_one() >= MAX_API_TOKENS:
                raise Conflict(f"An account has at most {MAX_API_TOKENS} tokens. Delete one that is not used.")
            await connection.execute(insert(token).values(**values))
        return secret, new

    async def list_tokens(self, account: str) -> Sequence[Token]:
        query = select(*TOKEN_COLUMNS).where(token.c.account == account).order_by(token.c.id)
        return await self._database.fetch_structs(Token, query)

    async def delete_token(self, account: str, id: str) -> None:
        query = delete(token).where(token.c.account == account, token.c.id == id)
        if not id.isprintable() or not await self._database.execute(query):
            raise not_found("token", id)

    async def valid_credentials(self, credentials: set[str]) -> set[str]:
        """Return the credential hashes that are still valid."""
        hashes = list(credentials)
        found: set[str] = set()
        async with self._database.read() as connection:
            for start in range(0, len(hashes), CREDENTIALS_PER_QUERY):
                batch = hashes[start : start + CREDENTIALS_PER_QUERY]
                found.update((await connection.execute(valid_hashes_query(batch))).scalars())
        return found

    async def ensure_local_account(self) -> Caller:
        """Return the local user, and create its account if needed.

        The account has no password, so a client of another machine cannot log in with it.
        """
        add = self._database.insert_into
        now = time.time()
        values = {"id": LOCAL_ACCOUNT, "tenant": LOCAL_ACCOUNT, "name": LOCAL_ACCOUNT, "created_at": now}
        async with self._database.write() as connection:
            new_tenant = add(tenant).values(id=LOCAL_ACCOUNT, name=LOCAL_ACCOUNT, created_at=now)
            await connection.execute(new_tenant.on_conflict_do_nothing())
            await connection.execute(add(account).values(**values).on_conflict_do_nothing())
        return _make_caller(LOCAL_ACCOUNT, LOCAL_ACCOUNT, LOCAL_ACCOUNT, "local")

    async def _find_caller(self, kind: CredentialKind, hash: str, owner: Select[str, str, str]) -> Caller | None:
        row = await self._database.fetch_first(owner)
        return _make_caller(row.id, row.tenant, row.name, kind, hash) if row else None


def _make_caller(id: str, tenant: str, name: str, kind: CredentialKind, hash: str = "") -> Caller:
    return Caller(account=id, tenant=tenant, name=name, kind=kind, credential=hash)


async def _insert_session(connection: AsyncConnection, id: str, hash: str) -> None:
    now = time.time()
    expired = delete(session).where(session.c.account == id, session.c.expires_at <= now)
    await connection.execute(expired)
    until = now + SESSION_SECONDS
    await connection.execute(insert(session).values(hash=hash, account=id, created_at=now, expires_at=until))


def _wrong_credentials() -> Unauthorized:
    return Unauthorized("The name or the password is wrong.")


async def _find_tenant(connection: AsyncConnection, id_or_name: str) -> str:
    query = select(tenant.c.id).where(or_(tenant.c.id == id_or_name, tenant.c.name == id_or_name))
    found = (await connection.execute(query)).scalars().all()
    if not found:
        raise NotFound(f"There is no tenant {id_or_name!r}; `moot user list` shows them.")
    if len(found) > 1 and id_or_name not in found:
        raise Conflict(f"Several tenants are called {id_or_name!r}: name one by its id, as `moot user list` shows it.")
    return id_or_name if id_or_name in found else found[0]


async def _insert_tenant(connection: AsyncConnection, name: str) -> str:
    new = new_id("tenant")
    await connection.execute(insert(tenant).values(id=new, name=name, created_at=time.time()))
    return new


def hash_secret(secret: str) -> str:
    """Hash the secret of a session or token. It is long and random, so plain SHA-256 is enough."""
    return hashlib.sha256(secret.encode()).hexdigest()


def session_owner_query(hash: str) -> Select[str, str, str]:
    return _owner_query(session, hash).where(session.c.expires_at > time.time())


def token_owner_query(hash: str) -> Select[str, str, str]:
    return _owner_query(token, hash)


def _owner_query(table: Table, hash: str) -> Select[str, str, str]:
    owner: Select[str, str, str] = select(account.c.id, account.c.tenant, account.c.name)
    return owner.join(table, table.c.account == account.c.id).where(table.c.hash == hash)


def valid_hashes_query(hashes: Collection[str]) -> CompoundSelect[str]:
    """Return a query for the hashes of existing tokens and of sessions that have not expired."""
    sessions = select(session.c.hash).where(session.c.hash.in_(hashes), session.c.expires_at > time.time())
    return union_all(sessions, select(token.c.hash).where(token.c.hash.in_(hashes)))


async def lock_account(connection: AsyncConnection, id: str, *conditions: ColumnElement[bool]) -> bool:
    """Lock an account until the transaction ends. Return whether it exists and meets the conditions.

    A concurrent password change deletes all credentials. The creation of a new one waits here, and then fails.
    """
    query = select(account.c.id).where(account.c.id == id, *conditions).with_for_update(read=True)
    return (await connection.execute(query)).first() is not None


async def is_credential_valid(connection: AsyncConnection, caller: Caller) -> bool:
    """Return True for the local user, who needs no credential."""
    if caller.kind == "local":
        return True
    return (await connection.execute(valid_hashes_query([caller.credential]))).first() is not None


class Passwords:
    def __init__(self) -> None:
        self._hash_semaphore = asyncio.Semaphore(MAX_CONCURRENT_HASHES)

    async def hash_password(self, password: str) -> str:
        async with self._hash_semaphore:
            return await asyncio.to_thread(HASHER.hash, password)

    async def verify_password(self, hash: str | None, password: str) -> bool:
        """Without a hash, return False after the same amount of work."""
        async with self._hash_semaphore:
            right = await asyncio.to_thread(_verify_hash, hash or DUMMY_HASH, password)
        return right and hash is not None


def _verify_hash(hash: str, password: str) -> bool:
    try:
        return HASHER.verify(hash, password)
    except VerificationError:
        return False
