"""How speaker labels are removed from answers in any chunks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.streaming.speaker_labels import SpeakerLabelFilter, SpeakerLabels, SpeakerNames

SPEAKER_NAMES = SpeakerNames("Alpha", ("Beta", "Gamma Ray", "Ada"))
TEXT_FRAGMENTS = [
    "Alpha",
    "Beta",
    "Gamma",
    " Ray",
    "Ada",
    ":",
    "**",
    "[",
    "]",
    " ",
    "\n",
    "/",
    "yes",
    "A",
    "```",
]


def filter_pieces(*pieces: str, strict: bool = True) -> SpeakerLabelFilter:
    label_filter = SpeakerLabelFilter(SPEAKER_NAMES, strict=strict)
    filtered = "".join(map(label_filter.feed, pieces)) + label_filter.close()
    assert filtered == label_filter.text
    return label_filter


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Alpha: yes", "yes"),
        ("**Alpha:** yes", "yes"),
        ("[alpha]:\n\nyes", "yes"),
        ("Alpha: Alpha: yes", "yes"),
        ("Alphabet: yes", "Alphabet: yes"),
        ("Alpha says yes", "Alpha says yes"),
        ("Alpha", "Alpha"),
        ("alpha://yes", "alpha://yes"),
        ("", ""),
    ],
)
def test_speaker_label_filter_removes_own_label(text: str, expected: str) -> None:
    assert (filter_pieces(text).text, filter_pieces(text).impersonated) == (expected, None)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Beta: yes", "Beta"),
        ("*Gamma Ray*: yes", "Gamma Ray"),
        ("Alpha: Beta: yes", "Beta"),
        ("Ada: and you?", "Ada"),
        ("Beta:", "Beta"),
    ],
)
def test_speaker_label_filter_detects_impersonation(text: str, name: str) -> None:
    assert (filter_pieces(text).text, filter_pieces(text).impersonated) == ("", name)


def test_speaker_label_filter_removes_foreign_label_when_not_strict() -> None:
    assert filter_pieces("Beta: yes\nBeta: no", strict=False).text == "yes\nBeta: no"


@pytest.mark.parametrize(
    "text",
    [
        "Note: yes",
        "Gamma: yes",  # not the name of a participant
        "```\nBeta: yes\n```",
        "- Beta: yes",
        "* Beta: yes",
        "1. Beta: yes",
        "> Beta: yes",
        "Beta, I agree: yes",
        "As Beta: yes",
        "First.\nBeta: yes",
    ],
)
def test_speaker_label_filter_keeps_other_text(text: str) -> None:
    assert (filter_pieces(text).text, filter_pieces(text).impersonated) == (text, None)


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        (("Yes",), ["Yes"]),
        (("B", "ut"), ["", "But"]),
        (("Bet", "a", " ", "is"), ["", "", "", "Beta is"]),
        (("Alpha", ":", " ", "y", "es"), ["", "", "", "y", "es"]),
    ],
)
def test_speaker_label_filter_emits_text_as_soon_as_label_is_excluded(
    pieces: tuple[str, ...], expected: list[str]
) -> None:
    label_filter = SpeakerLabelFilter(SPEAKER_NAMES, strict=True)
    assert [label_filter.feed(piece) for piece in pieces] == expected


def test_speaker_label_filter_buffer_is_bounded_for_whitespace() -> None:
    label_filter = SpeakerLabelFilter(SPEAKER_NAMES, strict=True)
    assert len(label_filter.feed(" " * 100_000)) == 100_000


def test_speaker_label_filter_restarts_after_retraction() -> None:
    label_filter = SpeakerLabelFilter(SPEAKER_NAMES, strict=True)
    label_filter.feed("Let me see.")
    label_filter.reset_filter()
    assert label_filter.feed("Alpha: four") + label_filter.close() == label_filter.text == "four"


@given(st.lists(st.sampled_from(TEXT_FRAGMENTS)).map("".join), st.data(), st.booleans())
def test_speaker_label_result_does_not_depend_on_chunks(text: str, data: st.DataObject, strict: bool) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    whole, cut = filter_pieces(text, strict=strict), filter_pieces(*pieces, strict=strict)
    assert (cut.text, cut.impersonated) == (whole.text, whole.impersonated)
    assert text.endswith(whole.text)
    assert strict or whole.impersonated is None


LABELS = SpeakerLabels(["Gamma", "Gamma Ray", "Beta"])


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Beta: yes", "Beta"),
        ("beta : yes", "beta"),
        ("\n **Beta:** yes", "Beta"),
        ("**Beta**: yes", "Beta"),
        ("[Beta]: yes", "Beta"),
        ("**[Beta]**: yes", "Beta"),
        ("<Beta>: yes", "Beta"),
        ("@Beta: yes", "Beta"),
        ("Beta\uff1a yes", "Beta"),
        ("Gamma Ray: yes", "Gamma Ray"),
    ],
)
def test_leading_label_is_found_and_stripped(text: str, name: str) -> None:
    assert LABELS.leading_name(text) == name
    assert LABELS.strip_label(text) == "yes"


@pytest.mark.parametrize("text", ["Beta says: yes", "Betamax: yes", "Yes, Beta: yes", "beta://yes", "Delta: yes", ""])
def test_speaker_labels_ignore_text_without_label(text: str) -> None:
    assert LABELS.leading_name(text) is None
    assert LABELS.strip_label(text) == text


def test_text_before_later_label_is_returned() -> None:
    assert LABELS.text_before_later_label("So.\nBeta: yes") == "So.\n"
    assert LABELS.text_before_later_label("Beta: yes\nSo.") is None


def test_empty_names_have_no_label() -> None:
    assert SpeakerLabels([""]).leading_name(": yes") is None
    assert SpeakerLabels([]).leading_name("Beta: yes") is None
