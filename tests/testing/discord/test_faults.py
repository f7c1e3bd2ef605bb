from moot.testing.discord.faults import FaultInjector, RateLimitBuckets


def test_a_window_has_room_for_so_many_and_the_next_for_as_many_again() -> None:
    now = [0.0]
    buckets = RateLimitBuckets(limit=2, window_seconds=1.0, clock=lambda: now[0])
    taken = [buckets.count_request("POST /channels/{channel}/messages", "1") for _ in range(3)]
    assert [room for room, _ in taken] == [True, True, False]
    assert [headers["X-RateLimit-Remaining"] for _, headers in taken] == ["1", "0", "0"]
    assert taken[0][1]["X-RateLimit-Reset-After"] == "1.000"
    assert buckets.count_request("POST /channels/{channel}/messages", "2")[0]
    now[0] = 1.0
    assert buckets.count_request("POST /channels/{channel}/messages", "1")[0]


def test_one_route_is_one_bucket_whatever_the_channel() -> None:
    buckets = RateLimitBuckets()
    [one, other, another] = [
        buckets.count_request(route, major)[1]["X-RateLimit-Bucket"]
        for route, major in (("a", "1"), ("a", "2"), ("b", "1"))
    ]
    assert one == other != another


def test_a_fault_happens_to_the_requests_that_it_is_for_and_so_often() -> None:
    faults = FaultInjector()
    faults.add_fault("POST /webhooks/", "broken", times=2, skip=1)
    asked = [
        "GET /webhooks/1",
        "POST /webhooks/1",
        "POST /webhooks/1",
        "POST /webhooks/2",
        "POST /webhooks/1",
    ]
    taken = [faults.take_fault(request) for request in asked]
    assert [fault.kind if fault else None for fault in taken] == [None, None, "broken", "broken", None]
