import asyncio
import io
from collections.abc import Callable
from pathlib import Path

import pytest

from moot.cli import users
from moot.store.accounts.accounts import Accounts
from moot.store.database import Database
from moot.types.errors import Conflict, NotFound, Unauthorized, UsageError
from tests.support.databases import write_migrated_database
from tests.support.fast_passwords import fast_password_hashing  # noqa: F401 - a fixture

PASSWORD = "correct horse"
OTHER_PASSWORD = "battery staple"


@pytest.fixture
def new_database_url(tmp_path: Path) -> str:
    """Return the URL of a database that does not exist yet."""
    return f"sqlite:///{tmp_path / 'data' / 'moot.db'}"


@pytest.fixture
def url(tmp_path: Path) -> str:
    write_migrated_database(tmp_path)
    return f"sqlite:///{tmp_path / 'moot.db'}"


def make_password_prompt(password: str) -> Callable[[], str]:
    return lambda: password


def can_log_in(url: str, name: str, password: str) -> bool:
    async def attempt() -> bool:
        async with Database(url) as database:
            try:
                await Accounts(database).login(name, password)
            except Unauthorized:
                return False
            return True

    return asyncio.run(attempt())


def test_account_is_added_listed_and_removed(new_database_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    url = new_database_url
    assert users.add_account("ada", None, url, make_password_prompt(PASSWORD)) == 0
    assert capsys.readouterr().out.startswith("Added ada to the tenant tenant_")
    assert can_log_in(url, "ada", PASSWORD)
    assert users.list_accounts(url) == 0
    (listed,) = capsys.readouterr().out.splitlines()
    name, tenant, *_ = listed.split()
    assert (name, tenant[:7]) == ("ada", "tenant_")
    assert users.remove_account("ada", url) == 0
    assert capsys.readouterr().out == f"Removed ada. The discussions of the tenant {tenant} are kept.\n"
    assert not can_log_in(url, "ada", PASSWORD)


def test_accounts_can_share_tenant(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    users.add_account("ada", None, url, make_password_prompt(PASSWORD))
    users.add_account("bob", "ada", url, make_password_prompt(PASSWORD))
    first, second = capsys.readouterr().out.splitlines()
    assert first.split()[-1] == second.split()[-1]


def test_password_is_changed(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    users.add_account("ada", None, url, make_password_prompt(PASSWORD))
    assert users.change_account_password("ada", url, make_password_prompt(OTHER_PASSWORD)) == 0
    assert "Changed the password of ada" in capsys.readouterr().out
    assert can_log_in(url, "ada", OTHER_PASSWORD)
    assert not can_log_in(url, "ada", PASSWORD)


def test_budget_is_set_listed_and_removed(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    users.add_account("ada", None, url, make_password_prompt(PASSWORD))
    assert users.update_account_budget("ada", 5.0, url) == 0
    users.list_accounts(url)
    _, confirmation, listed = capsys.readouterr().out.splitlines()
    assert confirmation == "ada may spend $5.00 a week."
    assert listed.endswith("  $5.00 a week")
    assert users.update_account_budget("ada", None, url) == 0
    users.list_accounts(url)
    confirmation, listed = capsys.readouterr().out.splitlines()
    assert confirmation == "Removed the budget of ada."
    assert "$" not in listed


@pytest.mark.parametrize("budget", [-1.0, float("nan"), float("inf"), 1e9])
def test_budget_outside_range_is_rejected(url: str, budget: float) -> None:
    with pytest.raises(UsageError, match="from 0 to 1,000,000"):
        users.update_account_budget("ada", budget, url)


def test_invalid_account_changes_are_rejected(url: str) -> None:
    users.add_account("ada", None, url, make_password_prompt(PASSWORD))
    with pytest.raises(Conflict, match="already"):
        users.add_account("ada", None, url, make_password_prompt(PASSWORD))
    with pytest.raises(NotFound, match="no tenant"):
        users.add_account("bob", "nowhere", url, make_password_prompt(PASSWORD))
    with pytest.raises(NotFound, match="no account"):
        users.remove_account("bob", url)
    with pytest.raises(NotFound, match="no account"):
        users.change_account_password("bob", url, make_password_prompt(PASSWORD))
    with pytest.raises(NotFound, match="no account"):
        users.update_account_budget("bob", 5.0, url)


def test_invalid_name_or_password_is_rejected_before_database_is_created(new_database_url: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="1 to 64"):
        users.add_account(" ada", None, new_database_url, make_password_prompt(PASSWORD))
    with pytest.raises(UsageError, match="10 to"):
        users.add_account("ada", None, new_database_url, make_password_prompt("short"))
    assert not (tmp_path / "data").exists()


class FakeTerminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_prompt_password_reads_one_line_from_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("correct horse \r\nmore\n"))
    assert users.prompt_password() == "correct horse "
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert users.prompt_password() == ""


def test_prompt_password_fails_when_stdin_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)  # Python sets it so if the descriptor is closed
    with pytest.raises(UsageError, match="standard input is closed"):
        users.prompt_password()


def test_prompt_password_asks_twice_without_echo_on_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = iter([PASSWORD, PASSWORD, PASSWORD, OTHER_PASSWORD])
    monkeypatch.setattr("sys.stdin", FakeTerminal())
    monkeypatch.setattr("getpass.getpass", lambda _: next(typed))
    assert users.prompt_password() == PASSWORD
    with pytest.raises(UsageError, match="differ"):
        users.prompt_password()
    assert PASSWORD not in capsys.readouterr().out
