from moot.transcript.labels import Names, figures, meant_for, moment, speaker, spent, stage, trouble
from moot.types.chunks import Usage
from tests.transcript.samples import MESSAGES, NOON, asked, said

NAMES = Names(alpha="Alpha")


def test_everybody_is_called_something() -> None:
    assert speaker(asked()) == "Person"
    assert speaker(MESSAGES[1]) == "Alpha"
    assert speaker(said(0, "So.", name=None)) == "The table"
    assert (NAMES["alpha"], NAMES["omega"]) == ("Alpha", "omega")


def test_stages_are_named_where_they_mean_something() -> None:
    stages = [stage(said(0, "So.", name, round=1)) for name in ("initial", "round", "answer", "turn")]
    assert stages == ["First answers", "Round 2", None, None]


def test_whom_something_is_for_is_said_of_what_people_say() -> None:
    assert meant_for(asked(audience=("alpha", "omega")), NAMES) == "only for Alpha, omega"
    assert meant_for(asked(), NAMES) is None
    assert meant_for(said(0, "So.", audience=("alpha",)), NAMES) is None


def test_figures_are_told_as_far_as_they_are_known() -> None:
    assert figures(MESSAGES[1]) == ["1,200 tokens in, 34 out", "$0.0123", "1.5 s"]
    assert figures(said(0, "", usage=Usage(), cost=None, latency=None)) == []
    assert figures(said(0, "", usage=Usage(3, 4, estimated=True), cost=0.0, latency=None)) == [
        "about 3 tokens in, 4 out"
    ]
    assert spent(Usage(1, 2), 0.5, 0) == "1 tokens in, 2 out, $0.50"
    assert spent(Usage(1, 2), 0.5, 3) == "1 tokens in, 2 out, $0.50, and 3 calls whose price is not known"


def test_what_went_wrong_is_said() -> None:
    assert trouble(MESSAGES[2]) == "Key rejected for b (HTTP 401)."
    assert trouble(said(0, "", status="failed")) == "It gave no answer."
    assert trouble(said(0, "So", status="stopped")) == "Stopped here."
    assert trouble(said(0, "So.")) is None


def test_times_are_those_of_utc() -> None:
    assert moment(NOON) == "2026-11-15 12:00 UTC"
