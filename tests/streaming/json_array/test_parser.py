import json
import random
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from moot.streaming.json_array.parser import (
    MAX_PREAMBLE_CHARS,
    ArrayPiece,
    JsonArrayParser,
    ObjectItem,
    SpeechDelta,
    action_name_and_params,
)
from moot.streaming.json_array.repair import LOOKAHEAD_CHARS

MAX_BUFFERED_CHARS = LOOKAHEAD_CHARS + 2  # a quote and its lookahead
OPEN_ACTION = {"type": "action", "name": "wb_open", "params": {}}


def merge_speech(pieces: Sequence[ArrayPiece]) -> list[str | dict[str, Any]]:
    """Merge the speech between two items into one string."""
    found: list[str | dict[str, Any]] = []
    for one in pieces:
        match one, found:
            case SpeechDelta(text), [*_, str()]:
                found[-1] = f"{found[-1]}{text}"
            case SpeechDelta(text), _:
                found.append(text)
            case ObjectItem(value), _:
                found.append(value)
    return found


def parse_chunks(*chunks: str) -> list[str | dict[str, Any]]:
    reader = JsonArrayParser()
    return merge_speech([*(one for chunk in chunks for one in reader.feed(chunk)), *reader.close()])


def spoken_text(text: str) -> str:
    return "".join(one for one in parse_chunks(text) if isinstance(one, str))


def text_array(content: str) -> str:
    """Return an array with one text item, without escaping its content."""
    return f'[{{"type":"text","content":"{content}"}}]'


# Reading


def test_parser_emits_speech_and_actions_in_order() -> None:
    written = (
        '[{"type":"action","name":"wb_open","params":{}},{"type":"text","content":"Look at this."},'
        '{"type":"action","tool_name":"laser","parameters":{"x":1},"action_id":"a1"},"And this."]'
    )
    assert parse_chunks(written) == [
        OPEN_ACTION,
        "Look at this.",
        {"type": "action", "tool_name": "laser", "parameters": {"x": 1}, "action_id": "a1"},
        " And this.",
    ]


def test_parser_streams_speech_and_emits_action_when_complete() -> None:
    reader = JsonArrayParser()
    assert reader.feed('[{"type":"text","content":"Lo') == [SpeechDelta("Lo")]
    assert reader.feed("ok at") == [SpeechDelta("ok at")]
    assert reader.feed(' this."}, {"type":"action","name":"wb_open","params":{}') == [SpeechDelta(" this.")]
    assert reader.feed("}") == [ObjectItem(OPEN_ACTION)]
    assert reader.feed(',"Well') == [SpeechDelta(" Well")]


def test_parser_holds_content_until_type_is_known() -> None:
    reader = JsonArrayParser()
    assert reader.feed('[{"content":"Now.", "ty') == []
    assert reader.feed('pe":"text"') == []
    assert reader.feed(", ") == []
    assert reader.feed('"more": 1') == [SpeechDelta("Now.")]


def test_object_without_type_is_speech_when_it_has_content_and_no_name() -> None:
    assert parse_chunks('[{"content":"Hi."}]') == ["Hi."]
    assert parse_chunks('[{"content":"Hi.","name":"x"},{"content":1},{"tool_name":"y","content":"z"}]') == [
        {"content": "Hi.", "name": "x"},
        {"content": 1},
        {"tool_name": "y", "content": "z"},
    ]


def test_parser_emits_other_objects_whole() -> None:
    proposal = {"name": "Rain", "category": "nature", "description": "wet", "rationale": "needed"}
    assert parse_chunks(json.dumps([proposal, {}])) == [proposal, {}]


def test_parser_drops_values_that_are_neither_object_nor_string() -> None:
    assert parse_chunks('[{"type":"text","content":"a"}, 1, null, true, ["x", {"y": 2}], -1e3]') == ["a"]
    assert parse_chunks('[1, "a", [[]]]') == ["a"]
    assert parse_chunks('[[], "a"]') == ["a"]
    assert parse_chunks('[{"type":"text"},{"type":"text","content":5}]') == []


def test_parser_separates_texts_with_space_unless_whitespace_exists() -> None:
    assert spoken_text('["One.","Two."," Three.\\n","Four.","","Five."]') == "One. Two. Three.\nFour. Five."
    assert parse_chunks('["One.",{"name":"x"},"Two."]') == ["One.", {"name": "x"}, " Two."]
    assert spoken_text('["你好。","我们开始。"]') == "你好。我们开始。"


def test_parser_does_not_end_array_at_inner_brackets() -> None:
    reader = JsonArrayParser()
    for chunk in (
        '[{"type":"text","content":"see [1]',
        " and ]",
        '"},{"name":"x","params":{"a":[[1],[2]',
        "]",
    ):
        reader.feed(chunk)
        assert not reader.closed
    assert reader.feed("}}") == [ObjectItem({"name": "x", "params": {"a": [[1], [2]]}})]
    assert not reader.closed
    reader.feed("]")
    assert reader.closed


def test_parser_ignores_text_after_array() -> None:
    reader = JsonArrayParser()
    assert reader.feed('["a"] ["b"]') == [SpeechDelta("a")]
    assert reader.feed('[{"type":"text","content":"c"}]') == []
    assert reader.close() == []
    assert reader.feed('["d"]') == []


def test_action_name_and_params_accepts_both_spellings() -> None:
    assert action_name_and_params(ObjectItem(OPEN_ACTION)) == ("wb_open", {})
    assert action_name_and_params(ObjectItem({"tool_name": "a", "parameters": {"x": 1}})) == ("a", {"x": 1})
    assert action_name_and_params(ObjectItem({"name": "a", "params": "none"})) == ("a", {})
    assert action_name_and_params(ObjectItem({"name": 5})) is None
    assert action_name_and_params(ObjectItem({"params": {}})) is None


# Around the array


@pytest.mark.parametrize(
    "before",
    [
        "",
        " \n\ufeff",
        "```json\n",
        "Here are [some] thoughts [1], and a list: ",
        "- [ ] a box\n- [x] another\n",
        'As I said in ["Rain"]:\n',
        "Options {a} or {b}: ",
        "[[link]] (see [1, 2]) ",
    ],
)
def test_parser_skips_fences_and_prose_before_array(before: str) -> None:
    assert parse_chunks(before + text_array("Hi.") + "\n```\nHope this helps [really].") == ["Hi."]


@pytest.mark.parametrize("opening", ["[ ", "[\n// first\n", "[/* { */ ", "[\t\r\n"])
def test_parser_accepts_whitespace_and_comments_after_opening_bracket(opening: str) -> None:
    assert parse_chunks("So: " + opening + text_array("Hi.")[1:]) == ["Hi."]


@pytest.mark.parametrize(
    "prose",
    [
        "Just a plain answer.",
        "See [1] and [2].",
        "- [ ] buy milk",
        'A list like ["a", "b"] or {"a": 1}, in Python.',
        "Use [] or {} for that.",
        "It ends with [",
        '"Quoted."',
    ],
)
def test_parser_treats_prose_without_array_as_speech(prose: str) -> None:
    assert parse_chunks(prose) == [prose]
    assert parse_chunks("\n " + prose) == [prose]


def test_parser_streams_long_prose_and_ignores_later_array() -> None:
    reader = JsonArrayParser()
    assert reader.feed("x" * (MAX_PREAMBLE_CHARS - 1)) == []
    assert reader.feed("yz") == [SpeechDelta("x" * (MAX_PREAMBLE_CHARS - 1) + "yz")]
    assert reader.feed(' ["a') == [SpeechDelta(' ["a')]


@pytest.mark.parametrize("empty", ["[]", "```json\n[ ]\n```", "Nothing to add:\n[]\n", "", " \n"])
def test_parser_emits_nothing_for_empty_answer(empty: str) -> None:
    assert parse_chunks(empty) == []


def test_parser_reads_objects_without_array() -> None:
    lines = '{"type":"text","content":"One."}\n{"type":"action","name":"wb_open","params":{}}\n{"name":"x"}'
    assert parse_chunks(lines) == ["One.", OPEN_ACTION, {"name": "x"}]
    assert parse_chunks('Sure: {"type":"text","content":"One."} I hope "it" helps.') == ["One."]
    assert parse_chunks('{"name":"x"}\n[{"name":"y"}, "z"]') == [{"name": "x"}, {"name": "y"}, "z"]


def test_parser_emits_complete_items_of_unclosed_array() -> None:
    assert parse_chunks('[{"type":"text","content":"Half a sen') == ["Half a sen"]
    assert parse_chunks('[{"content":"Half a sen') == ["Half a sen"]
    assert parse_chunks('[{"type":"text","content":"One."},{"type":"action","name":"wb_open","params":{}}') == [
        "One.",
        OPEN_ACTION,
    ]
    assert parse_chunks('[{"type":"action","name":"wb_open"}')[0] == {"type": "action", "name": "wb_open"}
    assert parse_chunks('["One.",{"type":"action","name":"wb_open","params":{"x":"y') == ["One."]
    assert parse_chunks('[{"type":"text","content":"a\\u12') == ["a"]
    assert parse_chunks('[{"type":"text","content":"a","mo') == ["a"]


# Mistakes of models


@pytest.mark.parametrize(
    "content",
    [
        'He said "hello" to me',
        'He said "hello".',
        '"Hello", he said',
        'called "Foo"',
        '"All of it"',
        'the words "a", "b", and "c" here',
        'first "a": that, then "b"',
        'Write {"a": "b"}, then run',
        'Write {"a": "b", "c": ["d", "e"]}',
        "rock 'n' \"roll\"",
        '"Yes", "no": both',
        'a list ["a", "b"] of "c"',
        'a 5" board',
        'a 5", then',
        'the end is "quoted",',
    ],
)
def test_parser_keeps_unescaped_quotes_in_text(content: str) -> None:
    assert parse_chunks(text_array(content)) == [content]
    assert parse_chunks(f'[{{"content":"{content}","type":"text"}},{json.dumps(OPEN_ACTION)}]') == [
        content,
        OPEN_ACTION,
    ]
    assert parse_chunks(f'{{"type":"text","content":"{content}"}}\n{json.dumps(OPEN_ACTION)}') == [
        content,
        OPEN_ACTION,
    ]


def test_parser_repairs_unescaped_quotes_in_params() -> None:
    assert parse_chunks('[{"name":"x","params":{"a":"say "hi", ok","b":["a "b" c","d"]}},"e"]') == [
        {"name": "x", "params": {"a": 'say "hi", ok', "b": ['a "b" c', "d"]}},
        "e",
    ]


REPAIR_CASES = {
    "raw line breaks and tabs": (text_array("a\nb\tc"), ["a\nb\tc"]),
    "commas too many": ('[{"name":"x","params":{"a":[1,2,],},},]', [{"name": "x", "params": {"a": [1, 2]}}]),
    "no comma between items": (
        '["a" {"name":"x"} {"name":"y"}\n"b"]',
        ["a", {"name": "x"}, {"name": "y"}, " b"],
    ),
    "no comma between members": ('[{"type":"text" "content":"a"\n"x":1}]', ["a"]),
    "no comma in an array": ('[{"name":["a" "b"\n"c",1 2]}]', [{"name": ["a", "b", "c", 1, 2]}]),
    "slashes": ('[/*/ "a" */{"name":"x"}, / {"name":"y"}]', [{"name": "x"}, {"name": "y"}]),
    "comments": ('[// "a"\n{"name"/* : */:"x"}, // ]\n/* "b" **/"c"]', [{"name": "x"}, "c"]),
    "single quotes": ("[{'type': 'text', 'content': 'It's \"fine\"'}]", ['It\'s "fine"']),
    "Python": (
        '[{"name":"x","a":True,"b":False,"c":None}]',
        [{"name": "x", "a": True, "b": False, "c": None}],
    ),
    "not a number": (
        '[{"name":NaN,"a":-Infinity,"b":+1,"c":.5}]',
        [{"name": None, "a": None, "b": 1, "c": 0.5}],
    ),
    "keys without quotes": ('[{type: "text", content: "a"},{name:"x",b:1}]', ["a", {"name": "x", "b": 1}]),
    "escapes that are none": (text_array(r"\'a\' \alpha \x41 \u12 \_"), [r"'a' \alpha \x41 \u12 \_"]),
    "half a pair": (text_array(r"\ud83d \ude00 \ud83d\ude00"), ["\ufffd \ufffd \U0001f600"]),
    "surrogates": (text_array("\ud83d!"), ["\ufffd!"]),
    "a brace too few": (
        '[{"name":"x","params":{"a":1},{"name":"y"}]',
        [{"name": "x", "params": {"a": 1}}, {"name": "y"}],
    ),
    "a brace too few at the end": ('[{"type":"text","content":"a"]', ["a"]),
    "a brace too many": ('[{"name":"x"}},"a"]', [{"name": "x"}, "a"]),
    "a bracket for a brace": (
        '[{"name":"x","params":{"a":1]},"b"]',
        [{"name": "x", "params": {"a": 1}}, "b"],
    ),
    "a bracket too few": ('[{"name":["x"},"b"]', [{"name": ["x"]}, "b"]),
    "no value": ('[{"name":,"a":1,"b"}]', [{"a": 1}]),
    "words between items": ('[{"name":"x"}, and then {"name":"y"}]', [{"name": "x"}, {"name": "y"}]),
}


@pytest.mark.parametrize(("written", "meant"), REPAIR_CASES.values(), ids=REPAIR_CASES)
def test_parser_repairs_common_model_errors(written: str, meant: list[Any]) -> None:
    assert parse_chunks(written) == meant
    for cut in range(len(written)):
        assert parse_chunks(written[:cut], written[cut:]) == meant


def test_parser_drops_too_deeply_nested_items() -> None:
    deep = '{"name":"x","params":' + '{"a":[' * 10_000 + "]}" * 10_000 + "}"
    assert parse_chunks(f'[{deep},{{"name":"y"}},"z"]') == [{"name": "y"}, "z"]
    assert parse_chunks(f'[{"[" * 10_000},"z"]') == []


def test_parser_reads_oversized_integer_as_float() -> None:
    assert parse_chunks(f'[{{"name":{"9" * 10_000}}}]') == [{"name": float("inf")}]


# Properties for any text and any chunks

STRINGS = st.text(st.characters(max_codepoint=0x2FFF) | st.sampled_from('"\\\n\U0001f600,:{}[]'))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | STRINGS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(STRINGS, inner, max_size=4),
    max_leaves=8,
)
TEXTS = st.builds(lambda content: {"type": "text", "content": content}, STRINGS)
ACTIONS = st.fixed_dictionaries(
    {"type": st.just("action"), "name": st.sampled_from(["wb_open", "laser"])},
    optional={"params": st.dictionaries(STRINGS, JSON, max_size=4)},
)
ARRAYS: st.SearchStrategy[list[Any]] = st.just([]) | st.builds(
    lambda first, more: [first, *more],
    TEXTS | ACTIONS | STRINGS,
    st.lists(TEXTS | ACTIONS | JSON, max_size=5),
)
INDENTS = st.sampled_from([None, 1, 70])
JSON_FRAGMENTS = st.lists(
    st.sampled_from(
        [
            *"[]{}\"',:/\\ \nax1`",
            '{"type":"text","content":"',
            '"content":"',
            '"name":"n"',
            '"}',
            '"},{"',
            '"}]',
            '", "',
            *("\\u", "d83d", "\\ude00", "//", "/*", "*/", "true", "null", " and ", "key:", "\ud800", "é"),
            *("```json\n", "z" * 40, " " * 70, "w" * 700),
        ]
    ),
    max_size=30,
).map("".join)
OPENINGS = st.sampled_from(
    [
        "",
        "[",
        '["',
        '[{"type":"text","content":"',
        "[{'type':'text','content':'",
        '[{"a":{"b":["',
        '[{"content":"',
    ]
)


def expected_pieces(array: list[Any]) -> Iterator[str | dict[str, Any]]:
    """Return the pieces that the rules require for a decoded array."""
    last = ""
    for one in array:
        speech = one if isinstance(one, str) else None
        if isinstance(one, dict):
            nameless = "type" not in one and not one.keys() & {"name", "tool_name"}
            if one.get("type") != "text" and not (nameless and isinstance(one.get("content"), str)):
                yield one
                continue
            speech = one.get("content")
        if isinstance(speech, str) and speech:
            apart = last and not last.isspace() and not speech[0].isspace()
            yield f" {speech}" if apart else speech
            last = speech[-1]


def split_randomly(written: str, seed: int) -> list[str]:
    pieces, rng = [], random.Random(seed)  # noqa: S311 - not for secrets
    while written:
        length = rng.choice([1, 2, 3, 7, 40])
        pieces.append(written[:length])
        written = written[length:]
    return pieces


def damage_json(array: Sequence[Any], rng: random.Random) -> str:
    """Write an array as JSON with every kind of damage that models produce."""

    def gap() -> str:
        return rng.choice(["", "", "", " ", "\n", ' // note, "x": [\n', "/* ] */"])

    def write(value: Any) -> str:
        match value:
            case str():
                quoted = json.dumps(value, ensure_ascii=rng.random() < 0.5)
                raw = rng.choice([quoted, quoted.replace('\\"', '"'), quoted.replace("\\n", "\n")])
                return raw if rng.random() < 0.8 else f"'{raw[1:-1]}'"
            case dict():
                return enclosed("{}", [f"{write(k)}{gap()}:{gap()}{write(v)}" for k, v in value.items()])
            case list():
                return enclosed("[]", [write(one) for one in value])
            case _:
                return rng.choice([json.dumps(value), repr(value)])

    def enclosed(brackets: str, written: list[str]) -> str:
        comma = rng.choice([",", ",", ",", ", ", " "])
        closing = brackets[1] if rng.random() < 0.97 else ""
        return brackets[0] + gap() + (gap() + comma + gap()).join(written) + rng.choice(["", "", ","]) + closing

    return write(list(array))


@given(ARRAYS, INDENTS, st.booleans(), st.integers())
def test_parser_matches_json_loads_for_valid_arrays(
    array: list[Any], indent: int | None, ascii: bool, seed: int
) -> None:
    written = json.dumps(array, indent=indent, ensure_ascii=ascii)
    wanted = merge_speech(
        [SpeechDelta(one) if isinstance(one, str) else ObjectItem(one) for one in expected_pieces(json.loads(written))]
    )
    reader = JsonArrayParser()
    found = merge_speech(
        [one for chunk in split_randomly(written, seed) for one in reader.feed(chunk)] + reader.close()
    )
    assert found == wanted
    assert reader.closed


@settings(max_examples=20)  # each example parses the array once for each cut
@given(ARRAYS, st.integers())
def test_parser_result_of_damaged_array_does_not_depend_on_chunks(array: list[Any], seed: int) -> None:
    written = damage_json(array, random.Random(seed))  # noqa: S311
    whole = parse_chunks(written)
    assert parse_chunks(*written) == whole
    for cut in range(1, min(len(written), 300)):
        assert parse_chunks(written[:cut], written[cut:]) == whole


@given(OPENINGS, JSON_FRAGMENTS, st.integers())
@example('[{"type":"text","content":"', 'a"}, truex', 0)
def test_parser_never_raises_and_does_not_depend_on_chunks_for_any_text(opening: str, soup: str, seed: int) -> None:
    written = opening + soup
    whole = parse_chunks(written)
    assert parse_chunks(*written) == whole
    assert parse_chunks(*split_randomly(written, seed)) == whole
    json.dumps(whole, ensure_ascii=False).encode()  # everything can be encoded


@given(st.binary())
def test_parser_accepts_any_bytes(noise: bytes) -> None:
    for written in (
        noise.decode("utf-8", "replace"),
        noise.decode("latin-1"),
        noise.decode("utf-8", "surrogateescape"),
    ):
        assert parse_chunks(written) == parse_chunks(*written)


@given(STRINGS, st.integers(0, 2**32))
def test_parser_buffers_little_speech(content: str, seed: int) -> None:
    written = json.dumps(content)[1:-1]
    for stray in (written, written.replace('\\"', '"')):
        cut = seed % (len(stray) + 1)
        reader = JsonArrayParser()
        emitted = merge_speech(reader.feed('[{"type":"text","content":"' + stray[:cut]))
        rest = merge_speech(reader.close())
        assert len("".join(map(str, rest))) <= MAX_BUFFERED_CHARS, emitted


@pytest.mark.parametrize(
    "unit",
    [
        "word ",
        '"',
        '", "',
        '"}, ',
        "\\",
        "\\ud83d",
        '"},{"type":"text","content":"',
        '"},{"name":"x","params":{"a":[1,2]}},{"type":"text","content":"',
        '"}//',
        '"}/* ',
        '"},',
        "'",
    ],
)
def test_parser_buffer_is_bounded_for_any_repeated_input(unit: str) -> None:
    """The parser reads its buffer again with each chunk. A small buffer keeps the work linear."""
    reader = JsonArrayParser()
    reader.feed('[{"type":"text","content":"')
    for _ in range(2_000):
        reader.feed(unit)
        assert len(reader._buffer) <= LOOKAHEAD_CHARS + 1
        assert len(reader._containers) <= 2
    assert len(reader._string_parts) <= 2
