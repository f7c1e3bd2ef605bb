import pytest

from moot.types.accounts import Caller, check_account_name, check_password
from moot.types.errors import UsageError


@pytest.mark.parametrize("name", ["a", "Ada Lovelace", "çelik", "x" * 64])
def test_check_account_name_accepts_ordinary_names(name: str) -> None:
    check_account_name(name)


@pytest.mark.parametrize("name", ["", " ", " ada", "ada ", "a\nb", "a\x00b", "x" * 65])
def test_check_account_name_rejects_ambiguous_names(name: str) -> None:
    with pytest.raises(UsageError, match="1 to 64"):
        check_account_name(name)


@pytest.mark.parametrize("password", ["ten chars!", "a long sentence with spaces in it", "x" * 1000])
def test_check_password_accepts_ten_or_more_characters(password: str) -> None:
    check_password(password)


@pytest.mark.parametrize("password", ["", "nine char", "x" * 1001, "ten\nchars\n!", "\udcff" * 12])
def test_check_password_rejects_invalid_password_without_quoting_it(password: str) -> None:
    with pytest.raises(UsageError, match=r"^password: .* Choose another\.") as caught:
        check_password(password)
    assert not password or password not in str(caught.value)


def test_local_caller_has_no_credential() -> None:
    assert Caller(account="a", tenant="t", name="n", kind="local").credential == ""
