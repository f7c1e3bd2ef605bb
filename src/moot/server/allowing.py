"""What somebody who only listens is told of a call that waits for consent: who wants it, and where it is given."""

from moot.model.events import ApprovalWanted


def how_to_allow(who: str, wanted: ApprovalWanted) -> str:
    """Name the call, and the two places in which it can be answered."""
    path = f"/api/runs/{wanted.run}/approvals/{wanted.call_id}"
    return (
        f"{who} wants to call {wanted.name}, and waits for consent: allow or refuse it on the page, "
        f'or by POST {path} with {{"answer": "allow"}} or {{"answer": "refuse"}}.'
    )
