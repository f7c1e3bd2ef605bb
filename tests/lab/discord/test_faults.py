from moot.lab.discord.faults import Faults


def test_a_fault_happens_to_the_requests_that_it_is_for_and_so_often() -> None:
    faults = Faults()
    faults.add("POST /webhooks/", "broken", times=2, skip=1)
    asked = [
        "GET /webhooks/1",
        "POST /webhooks/1",
        "POST /webhooks/1",
        "POST /webhooks/2",
        "POST /webhooks/1",
    ]
    taken = [faults.take(request) for request in asked]
    assert [fault.kind if fault else None for fault in taken] == [None, None, "broken", "broken", None]
