from moot.testing.discord.faults import FaultInjector, RateLimitBuckets


def test_rate_limit_window_allows_limit_and_resets() -> None:
    now = [0.0]
    buckets = RateLimitBuckets(limit=2, window_seconds=1.0, clock=lambda: now[0])
    taken = [buckets.count_request("POST /channels/{channel}/messages", "1") for _ in range(3)]
    assert [room for room, _ in taken] == [True, True, False]
    assert [headers["X-RateLimit-Remaining"] for _, headers in taken] == ["1", "0", "0"]
    assert taken[0][1]["X-RateLimit-Reset-After"] == "1.000"
    assert buckets.count_request("POST /channels/{channel}/messages", "2")[0]
    now[0] = 1.0
    assert buckets.count_request("POST /channels/{channel}/messages", "1")[0]


def test_rate_limit_bucket_is_shared_by_channels_of_route() -> None:
    buckets = RateLimitBuckets()
    [one, other, another] = [
        buckets.count_request(route, major)[1]["X-RateLimit-Bucket"]
        for route, major in (("a", "1"), ("a", "2"), ("b", "1"))
    ]
    assert one == other != another


def test_fault_injector_applies_fault_to_matching_requests_only() -> None:
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
