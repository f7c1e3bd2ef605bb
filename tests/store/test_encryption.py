import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from moot.store.database import Database
from moot.store.encryption import Encryptor
from moot.types.errors import BadSettings

SECRET = "8Zq1vW0nT5yRk3LxPb7cJd9mHs2gFa4u"
OTHER_SECRET = "uQ5wE8rT1yU4iO7pA0sD3fG6hJ9kL2zX"
ASSOCIATED_DATA = ("tenant_a", "openai", "https://api.openai.com")


def test_decrypt_returns_plaintext_for_its_associated_data() -> None:
    encryptor = Encryptor(SECRET)
    encrypted = encryptor.encrypt("sk-canary", *ASSOCIATED_DATA)
    assert b"canary" not in encrypted
    assert encryptor.decrypt(encrypted, *ASSOCIATED_DATA) == "sk-canary"
    assert encryptor.encrypt("sk-canary", *ASSOCIATED_DATA) != encrypted


@pytest.mark.parametrize(
    "place",
    [
        ("tenant_b", "openai", "https://api.openai.com"),
        ("tenant_a", "groq", "https://api.openai.com"),
        ("tenant_a", "openai", "https://evil.example"),
        ("tenant_a", "openaihttps://", "api.openai.com"),
        ("tenant_a", "openai"),
    ],
)
def test_decrypt_rejects_other_associated_data(place: tuple[str, ...]) -> None:
    encryptor = Encryptor(SECRET)
    assert encryptor.decrypt(encryptor.encrypt("sk-canary", *ASSOCIATED_DATA), *place) is None


def test_decrypt_rejects_changed_ciphertext_and_other_secret() -> None:
    encryptor = Encryptor(SECRET)
    encrypted = encryptor.encrypt("sk-canary", *ASSOCIATED_DATA)
    for place in range(len(encrypted)):
        changed = bytearray(encrypted)
        changed[place] ^= 1
        assert encryptor.decrypt(bytes(changed), *ASSOCIATED_DATA) is None
    assert encryptor.decrypt(encrypted[:20], *ASSOCIATED_DATA) is None
    assert encryptor.decrypt(b"", *ASSOCIATED_DATA) is None
    assert Encryptor(OTHER_SECRET).decrypt(encrypted, *ASSOCIATED_DATA) is None


@pytest.mark.parametrize(
    "weak",
    [
        "short",
        "x" * 64,
        "ab" * 32,
        "0123456789" * 4,
        "changeme-changeme-changeme-0123456789",
        "CHANGE_ME_1234567890_abcdefghijkl",
        "this-is-only-an-example-secret-1234",
        "my-secret-password-for-moot-2024!!",
    ],
)
def test_weak_secret_is_rejected_without_showing_it(weak: str, tmp_path: Path) -> None:
    with pytest.raises(BadSettings, match=r"token_urlsafe") as caught:
        Encryptor.load_or_create(tmp_path, {"MOOT_SECRET": weak})
    assert weak not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_secret_from_environment_needs_no_file(tmp_path: Path) -> None:
    encrypted = Encryptor.load_or_create(tmp_path, {"MOOT_SECRET": SECRET}).encrypt("sk-canary")
    assert Encryptor(SECRET).decrypt(encrypted) == "sk-canary"
    assert list(tmp_path.iterdir()) == []


def test_generated_secret_file_is_readable_only_by_owner(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    encrypted = Encryptor.load_or_create(folder, {}).encrypt("sk-canary")
    assert Encryptor.load_or_create(folder, {"MOOT_SECRET": " "}).decrypt(encrypted) == "sk-canary"
    assert [path.name for path in folder.iterdir()] == ["secret"]
    assert stat.S_IMODE((folder / "secret").stat().st_mode) == 0o600


def test_concurrent_starts_share_one_secret(tmp_path: Path) -> None:
    for attempt in range(10):
        folder = tmp_path / str(attempt)
        with ThreadPoolExecutor(8) as threads:
            encryptors = list(threads.map(lambda _, folder=folder: Encryptor.load_or_create(folder, {}), range(8)))
        assert all(encryptor.decrypt(encryptors[0].encrypt("x")) == "x" for encryptor in encryptors)
        assert [path.name for path in folder.iterdir()] == ["secret"]


@pytest.mark.parametrize("content", [b"", b"cut", b"\xff\xfe\x00"])
def test_invalid_secret_file_is_rejected(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(content)
    with pytest.raises(BadSettings, match="secret"):
        Encryptor.load_or_create(tmp_path, {})


def test_unwritable_folder_error_suggests_environment_variable(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("no folder")
    with pytest.raises(BadSettings, match="set MOOT_SECRET"):
        Encryptor.load_or_create(tmp_path / "data", {})


async def test_database_rejects_another_secret(database: Database) -> None:
    await Encryptor(SECRET).check_database_secret(database)
    await Encryptor(SECRET).check_database_secret(database)
    with pytest.raises(BadSettings, match="another secret"):
        await Encryptor(OTHER_SECRET).check_database_secret(database)
    await Encryptor(SECRET).check_database_secret(database)


def test_secret_file_mode_does_not_depend_on_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        Encryptor.load_or_create(tmp_path, {})
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "secret").stat().st_mode) == 0o600
