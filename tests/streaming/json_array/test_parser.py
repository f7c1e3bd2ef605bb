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

MAX_BUFFERED_CHARS = LOOKAHEAD_CHARS + 2  # a quote, what may decide about it, and no more
OPEN_ACTION = {"type": "action", "name": "wb_open", "params": {}}


def merge_speech(pieces: Sequence[ArrayPiece]) -> list[str | dict[str, Any]]:
    """Speech between two items as one string, and the items."""
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
    """An array with one text, which says what is written here and escapes nothing."""
    return f'[{{"type":"text","content":"{content}"}}]'


# Reading


def test_speech_and_actions_come_in_their_order() -> None:
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


def test_speech_comes_as_it_grows_and_an_action_as_soon_as_it_is_whole() -> None:
    reader = JsonArrayParser()
    assert reader.feed('[{"type":"text","content":"Lo') == [SpeechDelta("Lo")]
    assert reader.feed("ok at") == [SpeechDelta("ok at")]
    assert reader.feed(' this."}, {"type":"action","name":"wb_open","params":{}') == [SpeechDelta(" this.")]
    assert reader.feed("}") == [ObjectItem(OPEN_ACTION)]
    assert reader.feed(',"Well') == [SpeechDelta(" Well")]


def test_a_text_before_its_type_waits_for_it() -> None:
    reader = JsonArrayParser()
    assert reader.feed('[{"content":"Now.", "ty') == []
    assert reader.feed('pe":"text"') == []
    assert reader.feed(", ") == []
    assert reader.feed('"more": 1') == [SpeechDelta("Now.")]


def test_an_object_without_type_is_speech_if_it_has_content_and_no_name() -> None:
    assert parse_chunks('[{"content":"Hi."}]') == ["Hi."]
    assert parse_chunks('[{"content":"Hi.","name":"x"},{"content":1},{"tool_name":"y","content":"z"}]') == [
        {"content": "Hi.", "name": "x"},
        {"content": 1},
        {"tool_name": "y", "content": "z"},
    ]


def test_other_objects_come_out_whole() -> None:
    proposal = {"name": "Rain", "category": "nature", "description": "wet", "rationale": "needed"}
    assert parse_chunks(json.dumps([proposal, {}])) == [proposal, {}]


def test_what_is_neither_object_nor_string_is_dropped() -> None:
    assert parse_chunks('[{"type":"text","content":"a"}, 1, null, true, ["x", {"y": 2}], -1e3]') == ["a"]
    assert parse_chunks('[1, "a", [[]]]') == ["a"]
    assert parse_chunks('[[], "a"]') == ["a"]
    assert parse_chunks('[{"type":"text"},{"type":"text","content":5}]') == []


def test_a_space_keeps_texts_apart_unless_there_is_white_space() -> None:
    assert spoken_text('["One.","Two."," Three.\\n","Four.","","Five."]') == "One. Two. Three.\nFour. Five."
    assert parse_chunks('["One.",{"name":"x"},"Two."]') == ["One.", {"name": "x"}, " Two."]
    assert spoken_text('["你好。","我们开始。"]') == "你好。我们开始。"


def test_brackets_in_strings_and_nested_arrays_do_not_end_the_array() -> None:
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


def test_what_follows_the_array_is_not_read() -> None:
    reader = JsonArrayParser()
    assert reader.feed('["a"] ["b"]') == [SpeechDelta("a")]
    assert reader.feed('[{"type":"text","content":"c"}]') == []
    assert reader.close() == []
    assert reader.feed('["d"]') == []


def test_an_action_is_named_in_either_spelling() -> None:
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
def test_fences_and_chatter_before_the_array_are_skipped(before: str) -> None:
    assert parse_chunks(before + text_array("Hi.") + "\n```\nHope this helps [really].") == ["Hi."]


@pytest.mark.parametrize("opening", ["[ ", "[\n// first\n", "[/* { */ ", "[\t\r\n"])
def test_white_space_and_comments_may_follow_the_bracket(opening: str) -> None:
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
def test_prose_without_an_array_is_speech(prose: str) -> None:
    assert parse_chunks(prose) == [prose]
    assert parse_chunks("\n " + prose) == [prose]


def test_long_prose_is_streamed_and_an_array_after_it_is_part_of_it() -> None:
    reader = JsonArrayParser()
    assert reader.feed("x" * (MAX_PREAMBLE_CHARS - 1)) == []
    assert reader.feed("yz") == [SpeechDelta("x" * (MAX_PREAMBLE_CHARS - 1) + "yz")]
    assert reader.feed(' ["a') == [SpeechDelta(' ["a')]


@pytest.mark.parametrize("empty", ["[]", "```json\n[ ]\n```", "Nothing to add:\n[]\n", "", " \n"])
def test_an_answer_of_nothing_says_nothing(empty: str) -> None:
    assert parse_chunks(empty) == []


def test_objects_without_an_array_are_read_one_after_the_other() -> None:
    lines = '{"type":"text","content":"One."}\n{"type":"action","name":"wb_open","params":{}}\n{"name":"x"}'
    assert parse_chunks(lines) == ["One.", OPEN_ACTION, {"name": "x"}]
    assert parse_chunks('Sure: {"type":"text","content":"One."} I hope "it" helps.') == ["One."]
    assert parse_chunks('{"name":"x"}\n[{"name":"y"}, "z"]') == [{"name": "x"}, {"name": "y"}, "z"]


def test_an_array_that_is_never_closed_gives_all_that_was_there() -> None:
    assert parse_chunks('[{"type":"text","content":"Half a sen') == ["Half a sen"]
    assert parse_chunks('[{"content":"Half a sen') == ["Half a sen"]
    assert parse_chunks(
        '[{"type":"text","content":"One."},{"type":"action","name":"wb_open","params":{}}'
    ) == [
        "One.",
        OPEN_ACTION,
    ]
    assert parse_chunks('[{"type":"action","name":"wb_open"}')[0] == {"type": "action", "name": "wb_open"}
    assert parse_chunks('["One.",{"type":"action","name":"wb_open","params":{"x":"y') == ["One."]
    assert parse_chunks('[{"type":"text","content":"a\\u12') == ["a"]
    assert parse_chunks('[{"type":"text","content":"a","mo') == ["a"]


# What models get wrong


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
def test_quotes_that_were_not_escaped_belong_to_the_text(content: str) -> None:
    assert parse_chunks(text_array(content)) == [content]
    assert parse_chunks(f'[{{"content":"{content}","type":"text"}},{json.dumps(OPEN_ACTION)}]') == [
        content,
        OPEN_ACTION,
    ]
    assert parse_chunks(f'{{"type":"text","content":"{content}"}}\n{json.dumps(OPEN_ACTION)}') == [
        content,
        OPEN_ACTION,
    ]


def test_stray_quotes_are_mended_in_parameters_too() -> None:
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
def test_what_models_get_wrong_is_mended(written: str, meant: list[Any]) -> None:
    assert parse_chunks(written) == meant
    for cut in range(len(written)):
        assert parse_chunks(written[:cut], written[cut:]) == meant


def test_what_is_nested_too_deep_to_be_written_again_is_dropped() -> None:
    deep = '{"name":"x","params":' + '{"a":[' * 10_000 + "]}" * 10_000 + "}"
    assert parse_chunks(f'[{deep},{{"name":"y"}},"z"]') == [{"name": "y"}, "z"]
    assert parse_chunks(f'[{"[" * 10_000},"z"]') == []


def test_a_number_too_long_for_an_integer_is_still_a_number() -> None:
    assert parse_chunks(f'[{{"name":{"9" * 10_000}}}]') == [{"name": float("inf")}]


# What holds for any text and any cut

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
    """What an array says by the rules, from what `json.loads` makes of it."""
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
    """Write an array as models do on a bad day, with damage of every kind."""

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
        return (
            brackets[0] + gap() + (gap() + comma + gap()).join(written) + rng.choice(["", "", ","]) + closing
        )

    return write(list(array))


@given(ARRAYS, INDENTS, st.booleans(), st.integers())
def test_an_undamaged_array_gives_what_json_gives(
    array: list[Any], indent: int | None, ascii: bool, seed: int
) -> None:
    written = json.dumps(array, indent=indent, ensure_ascii=ascii)
    wanted = merge_speech(
        [
            SpeechDelta(one) if isinstance(one, str) else ObjectItem(one)
            for one in expected_pieces(json.loads(written))
        ]
    )
    reader = JsonArrayParser()
    found = merge_speech(
        [one for chunk in split_randomly(written, seed) for one in reader.feed(chunk)] + reader.close()
    )
    assert found == wanted
    assert reader.closed


@settings(max_examples=20)  # an example reads the array once for each of its cuts
@given(ARRAYS, st.integers())
def test_a_damaged_array_says_the_same_for_every_cut(array: list[Any], seed: int) -> None:
    written = damage_json(array, random.Random(seed))  # noqa: S311
    whole = parse_chunks(written)
    assert parse_chunks(*written) == whole
    for cut in range(1, min(len(written), 300)):
        assert parse_chunks(written[:cut], written[cut:]) == whole


@given(OPENINGS, JSON_FRAGMENTS, st.integers())
@example('[{"type":"text","content":"', 'a"}, truex', 0)
def test_any_text_says_the_same_for_any_cut_and_never_raises(opening: str, soup: str, seed: int) -> None:
    written = opening + soup
    whole = parse_chunks(written)
    assert parse_chunks(*written) == whole
    assert parse_chunks(*split_randomly(written, seed)) == whole
    json.dumps(whole, ensure_ascii=False).encode()  # there is nothing that could not be sent


@given(st.binary())
def test_any_bytes_can_be_read(noise: bytes) -> None:
    for written in (
        noise.decode("utf-8", "replace"),
        noise.decode("latin-1"),
        noise.decode("utf-8", "surrogateescape"),
    ):
        assert parse_chunks(written) == parse_chunks(*written)


@given(STRINGS, st.integers(0, 2**32))
def test_speech_is_never_far_behind(content: str, seed: int) -> None:
    written = json.dumps(content)[1:-1]
    for stray in (written, written.replace('\\"', '"')):
        cut = seed % (len(stray) + 1)
        reader = JsonArrayParser()
        heard = merge_speech(reader.feed('[{"type":"text","content":"' + stray[:cut]))
        rest = merge_speech(reader.close())
        assert len("".join(map(str, rest))) <= MAX_BUFFERED_CHARS, heard


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
def test_no_more_is_kept_than_is_in_doubt(unit: str) -> None:
    """Whatever is kept is read again with the next chunk: if it is little, the work is linear."""
    reader = JsonArrayParser()
    reader.feed('[{"type":"text","content":"')
    for _ in range(2_000):
        reader.feed(unit)
        assert len(reader._buffer) <= LOOKAHEAD_CHARS + 1
        assert len(reader._containers) <= 2
    assert len(reader._string_parts) <= 2
