from pathlib import Path

import pytest
from msgspec.structs import replace

from moot.providers.scripted.scripts import (
    BUILT_IN_SCRIPTS,
    SCRIPT_FAULTS,
    Script,
    ScriptedTool,
    Scripts,
    last_user_text,
    load_scripts,
)
from moot.types.chunks import ToolCall
from moot.types.errors import BadSettings, UnknownModel
from moot.types.requests import ModelRequest, ToolResult, assistant_message, user_message

REQUEST = ModelRequest(
    model="x",
    system="Be brief.",
    messages=(user_message("old"), assistant_message("ok"), user_message("new", "er")),
)


def test_last_user_text_joins_parts_of_newest_user_message() -> None:
    assert last_user_text(REQUEST) == "new\n\ner"


def test_script_answer_replaces_known_placeholders() -> None:
    scripts = Scripts({"x": Script(answer="{model}: {question} ({system}) {other}")})
    assert scripts.next_reply(REQUEST).answer == "x: new\n\ner (Be brief.) {other}"


def test_script_fault_happens_only_configured_number_of_times() -> None:
    scripts = Scripts({"x": Script(fault="reset", faulty_calls=2)})
    assert [scripts.next_reply(REQUEST).fault for _ in range(4)] == ["reset", "reset", "", ""]


def test_text_pieces_split_answer_by_chunk_size() -> None:
    reply = Scripts({"x": Script(answer="abcdefg", chunk_chars=3)}).next_reply(REQUEST)
    assert reply.text_pieces() == ["abc", "def", "g"]


def test_every_script_fault_has_built_in_script() -> None:
    assert set(SCRIPT_FAULTS) <= set(BUILT_IN_SCRIPTS)


def test_built_in_scripts_have_special_characters() -> None:
    assert {"\u2028", "\u2029", "\u0085"} <= set(BUILT_IN_SCRIPTS["separators"].answer)
    assert {"\0", "\ud800"} <= set(BUILT_IN_SCRIPTS["nul"].answer)


def test_built_in_scripts_are_fast_except_slow_ones() -> None:
    slow = {"slow", "long"}  # as their names say
    assert max(script.chunk_interval_seconds for name, script in BUILT_IN_SCRIPTS.items() if name not in slow) <= 0.03


def test_check_script_suggests_similar_name() -> None:
    with pytest.raises(UnknownModel, match="Did you mean 'echo'"):
        Scripts().check_script("eco")
    with pytest.raises(UnknownModel, match="moot lab list"):
        Scripts().check_script("zzz")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("s.toml", '[polite]\nanswer = "Please."\nchunk_interval_seconds = 0.1\n'),
        ("s.yaml", "polite:\n  answer: Please.\n  chunk_interval_seconds: 0.1\n"),
        ("s.yml", "polite: {answer: Please., chunk_interval_seconds: 0.1}"),
    ],
)
def test_load_scripts_reads_toml_and_yaml(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    scripts = load_scripts(path)
    assert scripts["polite"] == Script(answer="Please.", chunk_interval_seconds=0.1)
    assert "echo" in scripts


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("s.toml", '[a.answer_if_contains]\nScore = {A = 8, day = 2020-01-31}\nList = ["é", 1.5, true]\n'),
        ("s.yaml", "a:\n  answer_if_contains:\n    Score: {A: 8, day: 2020-01-31}\n    List: [é, 1.5, true]\n"),
    ],
)
def test_answer_that_is_table_or_list_is_sent_as_json(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text, "utf-8")
    script = load_scripts(path)["a"]
    assert script.answer_for("Score them.") == '{"A": 8, "day": "2020-01-31"}'
    assert script.answer_for("List them.") == '["é", 1.5, true]'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[a]\nanswr = 'x'", "answr"),
        ("[a]\nfault = 'nope'", "nope"),
        ("[a]\nchunk_chars = 0", "chunk"),
        ("[a]\nusd_per_million_tokens = -1", "usd_per_million_tokens"),
        ("not toml", "is invalid"),
    ],
)
def test_load_scripts_names_file_and_field_in_error(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "s.toml"
    path.write_text(text)
    with pytest.raises(BadSettings, match=words) as caught:
        load_scripts(path)
    assert "s.toml" in str(caught.value)
    with pytest.raises(BadSettings, match="Cannot read"):
        load_scripts(tmp_path / "missing.toml")


def test_scripted_tool_is_called_configured_times_before_final_answer() -> None:
    tool = ScriptedTool("look_up")
    scripts = Scripts(
        {"x": Script(answer="Looking.", tool=tool, tool_calls=2, answer_after_tool="{question}: {result}")}
    )
    call = assistant_message(ToolCall("1", "look_up", "{}"))
    first, second = (
        user_message(ToolResult("1", "look_up", "one")),
        user_message(ToolResult("1", "look_up", "two")),
    )
    chunks: list[tuple[str, bool]] = []
    for more in ((), (call, first), (call, first, call, second)):
        reply = scripts.next_reply(replace(REQUEST, messages=(*REQUEST.messages, *more)))
        chunks.append((reply.answer, reply.tool is not None))
    assert chunks == [("Looking.", True), ("", True), ("new\n\ner: two", False)]
