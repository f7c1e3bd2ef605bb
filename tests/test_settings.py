from pathlib import Path

import platformdirs
import pytest

from moot.providers.catalog import ProviderConfig
from moot.settings import RateSettings, Settings, load_settings
from moot.tools.config import ServerConfig
from moot.types.errors import BadSettings
from tests.support.moot_process import MootCli, usage_error_text


@pytest.fixture
def moot(tmp_path: Path) -> MootCli:
    return MootCli(tmp_path)


NO_ENVIRONMENT: dict[str, str] = {}


class SettingsFiles:
    """The three places where settings are looked for, each empty at first."""

    def __init__(self, root: Path) -> None:
        self.named_file = root / "elsewhere" / "named.toml"
        self.local_file = root / "here" / "moot.toml"
        self.user_file = platformdirs.user_config_path("moot") / "moot.toml"
        for path in (self.named_file, self.local_file, self.user_file):
            path.parent.mkdir(parents=True, exist_ok=True)


@pytest.fixture
def settings_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SettingsFiles:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home" / ".config"))
    found = SettingsFiles(tmp_path)
    monkeypatch.chdir(found.local_file.parent)
    return found


def test_load_settings_returns_defaults_without_files(settings_files: SettingsFiles) -> None:
    assert load_settings(None, NO_ENVIRONMENT) == Settings()


def test_load_settings_prefers_environment_then_named_then_local_then_user_file(
    settings_files: SettingsFiles,
) -> None:
    settings_files.user_file.write_text('model = "user/model"')
    assert load_settings(None, NO_ENVIRONMENT).model == "user/model"
    settings_files.local_file.write_text('model = "here/model"')
    assert load_settings(None, NO_ENVIRONMENT).model == "here/model"
    settings_files.named_file.write_text('model = "named/model"')
    assert load_settings(None, NO_ENVIRONMENT).model == "here/model"
    assert load_settings(settings_files.named_file, NO_ENVIRONMENT).model == "named/model"
    assert load_settings(settings_files.named_file, {"MOOT_MODEL": "told/model"}).model == "told/model"


def test_load_settings_merges_missing_values_from_lower_priority_files(settings_files: SettingsFiles) -> None:
    settings_files.named_file.write_text('[providers.one]\napi = "openai"')
    settings_files.local_file.write_text('[providers.one]\napi = "google"\nbase_url = "http://here/v1"')
    settings_files.user_file.write_text(
        'model = "two/x"\n[providers.two]\napi = "anthropic"\n[fallback]\n"a/b" = ["c/d"]'
    )
    settings = load_settings(settings_files.named_file, NO_ENVIRONMENT)
    assert settings.model == "two/x"
    assert settings.providers["one"] == ProviderConfig(api="openai", base_url="http://here/v1")
    assert settings.providers["two"] == ProviderConfig(api="anthropic")
    assert settings.fallback == {"a/b": ("c/d",)}


def test_load_settings_does_not_merge_lists(settings_files: SettingsFiles) -> None:
    settings_files.local_file.write_text('[providers.one]\nkey_env = ["A"]')
    settings_files.user_file.write_text('[providers.one]\nkey_env = ["B", "C"]')
    assert load_settings(None, NO_ENVIRONMENT).providers["one"].key_variables == ("A",)


def test_load_settings_resolves_paths_relative_to_their_file(settings_files: SettingsFiles) -> None:
    settings_files.named_file.write_text('[providers.scripted]\nscript = "talk.yaml"')
    settings_files.user_file.write_text('[providers.local]\ngguf = "~/models/tiny.gguf"')
    providers = load_settings(settings_files.named_file, NO_ENVIRONMENT).providers
    assert providers["scripted"].script == str(settings_files.named_file.parent / "talk.yaml")
    assert providers["local"].gguf == str(Path.home() / "models" / "tiny.gguf")


def test_load_settings_keeps_absolute_paths(settings_files: SettingsFiles, tmp_path: Path) -> None:
    settings_files.local_file.write_text(f'[providers.scripted]\nscript = "{(tmp_path / "a.toml").as_posix()}"')
    assert load_settings(None, NO_ENVIRONMENT).providers["scripted"].script == str(tmp_path / "a.toml")


def test_load_settings_takes_gguf_path_from_environment(settings_files: SettingsFiles) -> None:
    settings_files.local_file.write_text('[providers.local]\ngguf = "other.gguf"')
    assert load_settings(None, {"MOOT_GGUF": "/models/tiny.gguf"}).providers["local"].gguf == "/models/tiny.gguf"


def test_load_settings_ignores_empty_environment_variables(settings_files: SettingsFiles) -> None:
    settings_files.local_file.write_text('model = "here/model"')
    assert load_settings(None, {"MOOT_MODEL": "", "MOOT_GGUF": ""}) == Settings(model="here/model")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("model = \n", "line 1, column"),
        ('modell = "a/b"', "unknown field `modell`"),
        ("model = 3", "$.model"),
        ('providers = "a"', "$.providers"),
        ('[providers.a]\nurl = "http://a"', "[providers.a]: Object contains unknown field `url`"),
        ('[providers.a]\napi = "carrier pigeon"', "carrier pigeon"),
        ('[fallback]\n"a/b" = "c/d"', "$.fallback"),
        ("[rates]\nrequests_per_minute = 0", "$.rates.requests_per_minute"),
        ("[rates]\nmodel_requests_per_minute = -1", "$.rates.model_requests_per_minute"),
        ("[rates]\nlogins_per_minute = 9", "unknown field `logins_per_minute`"),
        ('metrics_token = ""', "$.metrics_token"),
        ('[providers.a]\nkey_env = "MOOT_SECRET"', "variable of Moot itself"),
    ],
)
def test_load_settings_error_names_file_and_location(settings_files: SettingsFiles, text: str, expected: str) -> None:
    settings_files.local_file.write_text('model = "good/one"')
    settings_files.named_file.write_text(text)
    with pytest.raises(BadSettings) as caught:
        load_settings(settings_files.named_file, NO_ENVIRONMENT)
    assert str(settings_files.named_file) in str(caught.value)
    assert expected in str(caught.value)


@pytest.mark.parametrize(
    ("variable", "value", "expected"),
    [
        ("MOOT_WORKER_LEASE_SECONDS", "soon", "from 1 to 600"),
        ("MOOT_WORKER_LEASE_SECONDS", "0", "from 1 to 600"),
        ("MOOT_AUTH", "none", "`local` or `accounts`"),
        ("MOOT_METRICS_TOKEN", "short", "16 characters"),
        ("MOOT_WEEKLY_BUDGET_USD", "-1", "US dollars"),
        ("MOOT_WEEKLY_BUDGET_USD", "nan", "US dollars"),
        ("MOOT_WEEKLY_BUDGET_USD", "much", "US dollars"),
    ],
)
def test_load_settings_error_names_environment_variable(
    settings_files: SettingsFiles, variable: str, value: str, expected: str
) -> None:
    with pytest.raises(BadSettings) as caught:
        load_settings(None, {variable: value})
    assert str(caught.value).startswith(f"{variable} must be ")
    assert expected in str(caught.value)


def test_load_settings_reads_server_settings_from_environment(settings_files: SettingsFiles) -> None:
    environment = {
        "MOOT_DATABASE_URL": "sqlite:////srv/moot.db",
        "MOOT_AUTH": "accounts",
        "MOOT_WORKER_LEASE_SECONDS": "2.5",
        "MOOT_EMBEDDING_MODEL": "ollama/nomic-embed-text",
        "MOOT_TASK_MODEL": "ollama/llama3.2",
        "MOOT_METRICS_TOKEN": "a token for prometheus",
        "MOOT_WEEKLY_BUDGET_USD": "2.50",
        "MOOT_ALLOWED_HOSTS": "moot.example, moot.home",
        "MOOT_PARTICIPANTS": "ollama/llama3.2, ollama/qwen3",
    }
    assert load_settings(None, environment) == Settings(
        database_url="sqlite:////srv/moot.db",
        auth="accounts",
        worker_lease_seconds=2.5,
        embedding_model="ollama/nomic-embed-text",
        task_model="ollama/llama3.2",
        metrics_token="a token for prometheus",
        weekly_budget_usd=2.5,
        allowed_hosts=("moot.example", "moot.home"),
        participants=("ollama/llama3.2", "ollama/qwen3"),
    )


def test_load_settings_reads_rates_per_minute(settings_files: SettingsFiles) -> None:
    assert load_settings(None, NO_ENVIRONMENT).rates == RateSettings(
        requests_per_minute=600,
        model_requests_per_minute=60,
        messages_per_minute=10,
        messages_burst=3,
        debates_per_minute=5,
        debates_burst=1,
        model_calls_per_minute=1000,
    )
    settings_files.local_file.write_text("[rates]\nmessages_per_minute = 5")
    assert load_settings(None, NO_ENVIRONMENT).rates == RateSettings(messages_per_minute=5)


def test_load_settings_rejects_file_that_is_not_text(settings_files: SettingsFiles) -> None:
    settings_files.local_file.write_bytes(b"\xff\xfe")
    with pytest.raises(BadSettings, match="is invalid"):
        load_settings(None, NO_ENVIRONMENT)


def test_load_settings_rejects_missing_named_file(settings_files: SettingsFiles) -> None:
    with pytest.raises(BadSettings, match="No such file"):
        load_settings(settings_files.named_file, NO_ENVIRONMENT)


@pytest.mark.parametrize("text", ["model = ", 'modell = "scripted/echo"'])
def test_ask_reports_invalid_settings_in_one_line(moot: MootCli, text: str) -> None:
    moot.write_file("moot.toml", text)
    error = usage_error_text(moot("ask", "hi"))
    assert error.startswith("The settings ")
    assert "moot.toml" in error


def test_ask_merges_settings_from_named_local_and_user_files(moot: MootCli) -> None:
    """The named file selects the model, the local file its script, and the user's file its fallbacks.

    The first fallback has no key, so the second is called.
    """
    moot.write_file("elsewhere/named.toml", 'model = "scripted/one"')
    moot.write_file("moot.toml", 'model = "scripted/never"\n[providers.scripted]\nscript = "talk/scripts.toml"')
    moot.write_file("talk/scripts.toml", '[one]\nfault = "unauthorized"\n[two]\nanswer = "Two."')
    moot.write_file("home/.config/moot/moot.toml", '[fallback]\n"scripted/one" = ["openai/gpt-5", "scripted/two"]')
    done = moot("ask", "hi", "--config", "elsewhere/named.toml")
    assert (done.returncode, done.stdout) == (0, "Two.\n")
    assert "scripted/two is asked instead of scripted/one." in done.stderr


@pytest.mark.parametrize(
    ("name", "script"),
    [
        ("talk.toml", '[greeter]\nanswer = "Hello, {question}! ({system})"\nchunk_chars = 3\n'),
        ("talk.yaml", 'greeter:\n  answer: "Hello, {question}! ({system})"\n  chunk_chars: 3\n'),
    ],
    ids=["toml", "yaml"],
)
def test_ask_reads_toml_and_yaml_scripts(moot: MootCli, name: str, script: str) -> None:
    moot.write_file("config/moot.toml", f'[providers.scripted]\nscript = "{name}"')
    moot.write_file(f"config/{name}", script)
    done = moot("ask", "world", "--system", "Be kind.", "-m", "scripted/greeter", "--config", "config/moot.toml")
    assert (done.returncode, done.stdout) == (0, "Hello, world! (Be kind.)\n")


def test_ask_reports_path_of_missing_script(moot: MootCli) -> None:
    moot.write_file("config/moot.toml", '[providers.scripted]\nscript = "gone.toml"')
    error = usage_error_text(moot("ask", "hi", "-m", "scripted/echo", "--config", "config/moot.toml"))
    assert error == f"Cannot read the script {Path('config') / 'gone.toml'}: No such file or directory."


def test_load_settings_takes_each_tool_server_from_one_file(settings_files: SettingsFiles) -> None:
    settings_files.local_file.write_text('[tools.notes]\nurl = "https://here.example"')
    settings_files.user_file.write_text(
        '[tools.notes]\ncommand = ["x"]\ntrusted = ["write"]\n[tools.words]\ncommand = ["y"]'
    )
    assert load_settings(None, NO_ENVIRONMENT).tools == {
        "notes": ServerConfig(url="https://here.example"),
        "words": ServerConfig(command=("y",)),
    }


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("[tools.moot]\ncommand = ['x']", r"\[tools.moot\]: the name must"),
        ("[tools.Notes]\ncommand = ['x']", r"\[tools.Notes\]: the name must"),
        ("[tools.notes]", "either a command or a url"),
        ("[tools.notes]\ncommand = ['x']\nurl = 'https://a.example'", "either a command or a url"),
        ("[tools.notes]\ncommand = 'x'", r"\[tools.notes\]: Expected `array`"),
        ("[tools.notes]\nheaders = { A = 'b' }", "unknown field `headers`"),
    ],
)
def test_load_settings_rejects_invalid_tool_server(settings_files: SettingsFiles, table: str, words: str) -> None:
    settings_files.local_file.write_text(table)
    with pytest.raises(BadSettings, match=words):
        load_settings(None, NO_ENVIRONMENT)
