from moot.library.results import Result, result_of
from moot.model.chunks import Usage
from moot.model.events import Answer, Notice, RunEnded, RunStarted, TurnEnded, TurnStatus
from moot.model.money import Charge
from moot.model.participants import seat


def turn(who: str, text: str, stage: str = "answer", status: TurnStatus = "completed") -> TurnEnded:
    return TurnEnded(
        participant=who,
        stage=stage,
        round=0,
        status=status,
        message=Answer(text=text),
        model="x/y",
        usage=Usage(input=1, output=2),
        cost=0.5,
    )


def result(*turns: TurnEnded | Notice) -> Result:
    ended = RunEnded(status="completed")
    return result_of([RunStarted(participants=seat(("x/y", "x/y"))), *turns, ended], ended)


def test_the_synthesis_is_what_a_debate_comes_to() -> None:
    came = result(
        turn("alpha", "Old.", "initial"), turn("alpha", "New.", "debate"), turn("beta", "All.", "synthesis")
    )
    assert (came.text, came.synthesis, came.answers) == ("All.", "All.", {"Alpha": "New."})


def test_several_answers_have_names_and_one_has_none() -> None:
    assert result(turn("alpha", "Yes."), turn("beta", "No.")).text == "Alpha:\nYes.\n\nBeta:\nNo."
    assert result(turn("alpha", "Yes."), turn("beta", "", status="failed")).text == "Yes."


def test_what_was_said_until_a_stop_is_an_answer() -> None:
    came = result(turn("alpha", "Half", status="stopped"), turn("beta", "", status="stopped"))
    assert (came.text, came.answers) == ("Half", {"Alpha": "Half"})


def test_a_stop_before_the_first_word_leaves_what_was_said_before() -> None:
    came = result(turn("alpha", "Old.", "initial"), turn("alpha", "", "debate", "stopped"))
    assert came.answers == {"Alpha": "Old."}


def test_all_that_was_paid_is_counted() -> None:
    vain = Charge(purpose="summary", model="x/y", usage=Usage(input=10), cost=1.0)
    came = result(turn("alpha", "Yes."), Notice(kind="missing", message="None.", charge=vain))
    assert (came.usage, came.cost, came.notices) == (Usage(input=11, output=2), 1.5, ("None.",))


def test_a_price_that_nobody_knows_makes_the_cost_unknown() -> None:
    vain = Charge(purpose="summary", model="x/y", usage=Usage(), cost=None)
    assert result(turn("alpha", "Yes."), Notice(kind="missing", message="", charge=vain)).cost is None
