import pytest

from moot.streams.labels import Labels

LABELS = Labels(["Gamma", "Gamma Ray", "Beta"])


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
def test_a_label_at_the_start_is_found_and_stripped(text: str, name: str) -> None:
    assert LABELS.leading(text) == name
    assert LABELS.stripped(text) == "yes"


@pytest.mark.parametrize(
    "text", ["Beta says: yes", "Betamax: yes", "Yes, Beta: yes", "beta://yes", "Delta: yes", ""]
)
def test_no_label(text: str) -> None:
    assert LABELS.leading(text) is None
    assert LABELS.stripped(text) == text


def test_a_label_on_a_later_line() -> None:
    assert LABELS.before_later("So.\nBeta: yes") == "So.\n"
    assert LABELS.before_later("Beta: yes\nSo.") is None


def test_nobody_has_no_label() -> None:
    assert Labels([""]).leading(": yes") is None
    assert Labels([]).leading("Beta: yes") is None
