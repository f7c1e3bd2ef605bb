"""Accounts and what proves them: passwords, sessions and API tokens. Of a secret only its hash is stored."""

import secrets
import time
from collections.abc import Sequence

import msgspec
from sqlalchemy import Select, delete, func, insert, or_, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from moot.store.accounts.credentials import Passwords, counts, digest, hold, of_session, of_token, valid
from moot.store.database import Database
from moot.store.schema import account, session, tenant, token
from moot.types.accounts import LOCAL, Account, Caller, CredentialKind, Token, check_name, check_password
from moot.types.errors import Conflict, NotFound, Refused
from moot.types.primitives import new_id

SESSION_SECONDS = 30 * 24 * 3600
TOKEN_PREFIX = "moot_"  # noqa: S105 - how a token begins, so that it is known when it is found somewhere
MOST_TOKENS = 100
IN_ONE_QUERY = 10_000  # a statement has room for 32,766 values on either database

ACCOUNT_FIELDS = [account.c[name] for name in Account.__struct_fields__]
TOKEN_FIELDS = [token.c[name] for name in Token.__struct_fields__]


class Accounts:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._passwords = Passwords()

    async def add(self, name: str, password: str, tenant: str | None = None) -> Account:
        """Add an account to the tenant that is named, by id or by name, or else to a new one of its own."""
        check_name(name)
        check_password(password)
        if name == LOCAL:
            raise Conflict(f"{LOCAL!r} is the user of this machine: choose another name.")
        hashed = await self._passwords.hash(password)
        try:
            async with self._database.write() as connection:
                home = await _tenant(connection, tenant) if tenant else await _new_tenant(connection, name)
                new = Account(id=new_id("account"), tenant=home, name=name, created_at=time.time())
                values = msgspec.structs.asdict(new)
                await connection.execute(insert(account).values(**values, password=hashed))
        except IntegrityError:
            raise Conflict(f"There is already an account called {name!r}.") from None
        return new

    async def all(self) -> Sequence[Account]:
        async with self._database.read() as connection:
            rows = await connection.execute(select(*ACCOUNT_FIELDS).order_by(account.c.name))
            return [Account(**row) for row in rows.mappings()]

    async def nobody_can_log_in(self) -> bool:
        """Tell whether no account has a password: the user of this machine has none."""
        async with self._database.read() as connection:
            found = await connection.execute(
                select(account.c.id).where(account.c.password.is_not(None)).limit(1)
            )
            return found.first() is None

    async def set_password(self, name: str, password: str) -> None:
        """Change a password, and end every session and token that was made with the old one."""
        check_password(password)
        hashed = await self._passwords.hash(password)
        query = update(account).where(account.c.name == name).values(password=hashed).returning(account.c.id)
        async with self._database.write() as connection:
            changed = (await connection.execute(query)).scalar()
            if changed is None:
                raise NotFound(f"There is no account called {name!r}.")
            await connection.execute(delete(session).where(session.c.account == changed))
            await connection.execute(delete(token).where(token.c.account == changed))

    async def remove(self, name: str) -> Account:
        """Remove an account with its sessions and tokens; what its tenant has is kept."""
        query = delete(account).where(account.c.name == name).returning(*ACCOUNT_FIELDS)
        async with self._database.write() as connection:
            row = (await connection.execute(query)).mappings().first()
        if row is None:
            raise NotFound(f"There is no account called {name!r}.")
        return Account(**row)

    async def login(self, name: str, password: str) -> tuple[str, Caller]:
        """Begin a session and return its secret, which is not known here afterwards."""
        query = select(*ACCOUNT_FIELDS, account.c.password).where(account.c.name == name)
        async with self._database.read() as connection:
            found = (await connection.execute(query)).first() if name.isprintable() else None
        if not await self._passwords.match(found.password if found else None, password) or found is None:
            raise _wrong()
        secret = secrets.token_urlsafe(32)
        async with self._database.write() as connection:
            if not await hold(connection, found.id, account.c.password == found.password):
                raise _wrong()
            await _begin_session(connection, found.id, digest(secret))
        return secret, _as_caller(found.id, found.tenant, found.name, "session", digest(secret))

    async def logout(self, caller: Caller) -> None:
        async with self._database.write() as connection:
            await connection.execute(delete(session).where(session.c.hash == caller.credential))

    async def caller_of_session(self, secret: str) -> Caller | None:
        return await self._caller("session", digest(secret), of_session(digest(secret)))

    async def caller_of_token(self, secret: str) -> Caller | None:
        return await self._caller("token", digest(secret), of_token(digest(secret)))

    async def make_token(self, caller: Caller, name: str) -> tuple[str, Token]:
        """Make a token and return its secret too, which is not known here afterwards."""
        secret = TOKEN_PREFIX + secrets.token_urlsafe(32)
        new = Token(id=new_id("token"), name=name, created_at=time.time())
        values = {**msgspec.structs.asdict(new), "account": caller.account, "hash": digest(secret)}
        mine = select(func.count()).where(token.c.account == caller.account)
        async with self._database.write() as connection:
            if not await hold(connection, caller.account) or not await counts(connection, caller):
                raise Refused("These credentials are no longer valid: log in again.", log_in=True)
            if (await connection.execute(mine)).scalar_one() >= MOST_TOKENS:
                raise Conflict(f"An account has at most {MOST_TOKENS} tokens: delete one that is not used.")
            await connection.execute(insert(token).values(**values))
        return secret, new

    async def tokens(self, account: str) -> Sequence[Token]:
        query = select(*TOKEN_FIELDS).where(token.c.account == account).order_by(token.c.id)
        async with self._database.read() as connection:
            return [Token(**row) for row in (await connection.execute(query)).mappings()]

    async def drop_token(self, account: str, id: str) -> None:
        query = delete(token).where(token.c.account == account, token.c.id == id).returning(token.c.id)
        async with self._database.write() as connection:
            gone = (await connection.execute(query)).first() if id.isprintable() else None
        if gone is None:
            raise NotFound(f"There is no token {id!r}.")

    async def still_valid(self, credentials: set[str]) -> set[str]:
        """Return those credentials of callers that would be accepted now."""
        asked = list(credentials)
        found: set[str] = set()
        async with self._database.read() as connection:
            for start in range(0, len(asked), IN_ONE_QUERY):
                some = asked[start : start + IN_ONE_QUERY]
                found.update((await connection.execute(valid(some))).scalars())
        return found

    async def ensure_local(self) -> Caller:
        """Return the one user of this machine, who needs no password here and has none elsewhere."""
        add = self._database.insert
        now = time.time()
        people = {"id": LOCAL, "tenant": LOCAL, "name": LOCAL, "created_at": now}
        async with self._database.write() as connection:
            home = add(tenant).values(id=LOCAL, name=LOCAL, created_at=now)
            await connection.execute(home.on_conflict_do_nothing())
            await connection.execute(add(account).values(**people).on_conflict_do_nothing())
        return _as_caller(LOCAL, LOCAL, LOCAL, "local")

    async def _caller(self, kind: CredentialKind, hash: str, owner: Select[str, str, str]) -> Caller | None:
        async with self._database.read() as connection:
            row = (await connection.execute(owner)).first()
        return _as_caller(*row, kind, hash) if row else None


def _as_caller(id: str, tenant: str, name: str, kind: CredentialKind, hash: str = "") -> Caller:
    return Caller(account=id, tenant=tenant, name=name, kind=kind, credential=hash)


async def _begin_session(connection: AsyncConnection, id: str, hash: str) -> None:
    now = time.time()
    over = delete(session).where(session.c.account == id, session.c.expires_at <= now)
    await connection.execute(over)
    until = now + SESSION_SECONDS
    await connection.execute(insert(session).values(hash=hash, account=id, created_at=now, expires_at=until))


def _wrong() -> Refused:
    return Refused("The name or the password is wrong.", log_in=True)


async def _tenant(connection: AsyncConnection, wanted: str) -> str:
    query = select(tenant.c.id).where(or_(tenant.c.id == wanted, tenant.c.name == wanted))
    found = (await connection.execute(query)).scalars().all()
    if not found:
        raise NotFound(f"There is no tenant {wanted!r}; `moot user list` shows them.")
    if len(found) > 1 and wanted not in found:
        raise Conflict(
            f"Several tenants are called {wanted!r}: name one by its id, as `moot user list` shows it."
        )
    return wanted if wanted in found else found[0]


async def _new_tenant(connection: AsyncConnection, name: str) -> str:
    new = new_id("tenant")
    await connection.execute(insert(tenant).values(id=new, name=name, created_at=time.time()))
    return new
