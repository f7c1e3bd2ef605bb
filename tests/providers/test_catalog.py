import pytest

from moot.providers.catalog import BUILT_IN_PROVIDERS, ProviderConfig, built_in_provider


def test_a_variable_of_one_s_own_is_named_not_a_key_and_none_of_moot_s() -> None:
    with pytest.raises(ValueError, match="NAME of an environment variable"):
        ProviderConfig(key_env="sk-verysecret")
    for names in ("MOOT_SECRET", ("LAB_KEY", "MOOT_METRICS_TOKEN")):
        with pytest.raises(ValueError, match="variable of Moot itself"):
            ProviderConfig(key_env=names)


def test_whoever_is_not_built_in_is_known_for_nothing() -> None:
    assert built_in_provider("somebody").api is None
    assert not built_in_provider("somebody").is_keyless


def test_every_address_is_one_of_https_or_of_this_machine() -> None:
    for name, known in BUILT_IN_PROVIDERS.items():
        near = known.base_url.startswith("http://127.0.0.1:")
        assert known.base_url == "" or near or known.base_url.startswith("https://"), name
        assert bool(known.key_env) == (known.base_url != "" and not near), name
