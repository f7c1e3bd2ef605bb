import pytest

from moot.types.accounts import Caller, check_account_name, check_password
from moot.types.errors import UsageError


@pytest.mark.parametrize("name", ["a", "Ada Lovelace", "çelik", "x" * 64])
def test_names_are_free_within_reason(name: str) -> None:
    check_account_name(name)


@pytest.mark.parametrize("name", ["", " ", " ada", "ada ", "a\nb", "a\x00b", "x" * 65])
def test_a_name_that_cannot_be_told_from_another_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="1 to 64"):
        check_account_name(name)


@pytest.mark.parametrize("password", ["ten chars!", "a long sentence with spaces in it", "x" * 1000])
def test_a_password_is_any_ten_characters_or_more(password: str) -> None:
    check_password(password)


@pytest.mark.parametrize("password", ["", "nine char", "x" * 1001, "ten\nchars\n!", "\udcff" * 12])
def test_a_password_that_will_not_do_is_refused_unseen(password: str) -> None:
    with pytest.raises(UsageError, match="choose another") as caught:
        check_password(password)
    assert not password or password not in str(caught.value)


def test_a_caller_of_this_machine_has_no_credential() -> None:
    assert Caller(account="a", tenant="t", name="n", kind="local").credential == ""
