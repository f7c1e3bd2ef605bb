"""The description of the API, held against the API: what schemathesis makes of it is answered as it says."""

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi import checks

from tests import unlimited
from tests.serving import MootServer, serving

CHECKS = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]
EXAMPLES = 12


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MootServer]:
    folder = tmp_path_factory.mktemp("openapi")
    command = (sys.executable, "-m", "tests.unlimited")
    with asyncio.Runner() as runner:
        context = serving(folder, command=command, PYTHONPATH=str(Path(unlimited.__file__).parents[1]))
        server = runner.run(context.__aenter__())
        yield server
        runner.run(context.__aexit__(None, None, None))


@pytest.fixture(scope="module")
def schema(server: MootServer) -> Any:
    return schemathesis.openapi.from_url(f"{server.url}/api/openapi.json")


def test_whatever_comes_is_answered_as_described(schema: Any, subtests) -> None:
    for result in schema.get_all_operations():
        operation = result.ok()
        if operation.path == "/api/events": continue
        for mode in GenerationMode:
            try:
                strategy = operation.as_strategy(generation_mode=mode)
            except Exception as e:
                print("NOSTRAT", operation.label, mode, e); continue
            @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, database=None, phases=[Phase.generate])
            @given(case=strategy)
            def check(case):
                case.call_and_validate(checks=CHECKS)
            import time
            t=time.time()
            with subtests.test(msg=f"{operation.label} {mode}"):
              check()
            print(operation.label, mode, round(time.time()-t,2))
