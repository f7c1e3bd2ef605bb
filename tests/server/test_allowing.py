from moot.model.events import ApprovalWanted
from moot.server.allowing import how_to_allow


def test_who_wants_what_and_where_it_is_answered() -> None:
    wanted = ApprovalWanted(
        participant="alpha",
        stage="answer",
        round=0,
        run="run_1",
        call_id="call_2",
        name="notes/x",
        seconds=600,
    )
    assert how_to_allow("Alpha", wanted) == (
        "Alpha wants to call notes/x, and waits for consent: allow or refuse it on the page, or by "
        'POST /api/runs/run_1/approvals/call_2 with {"answer": "allow"} or {"answer": "refuse"}.'
    )
