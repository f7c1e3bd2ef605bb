import pytest

from moot.providers.catalog import BUILT_IN_PROVIDERS, ProviderConfig, built_in_provider


def test_provider_config_rejects_key_value_and_reserved_variables_as_key_env() -> None:
    with pytest.raises(ValueError, match="NAME of an environment variable"):
        ProviderConfig(key_env="sk-verysecret")
    for names in ("MOOT_SECRET", ("LAB_KEY", "MOOT_METRICS_TOKEN")):
        with pytest.raises(ValueError, match="variable of Moot itself"):
            ProviderConfig(key_env=names)


def test_built_in_provider_of_unknown_name_has_no_defaults() -> None:
    assert built_in_provider("somebody").api is None
    assert not built_in_provider("somebody").is_keyless


def test_built_in_base_urls_are_https_or_loopback() -> None:
    for name, known in BUILT_IN_PROVIDERS.items():
        near = known.base_url.startswith("http://127.0.0.1:")
        assert known.base_url == "" or near or known.base_url.startswith("https://"), name
        assert bool(known.key_env) == (known.base_url != "" and not near), name
