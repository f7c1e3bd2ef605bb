import pytest

from moot.providers.catalog import Api
from moot.providers.scripted.provider import ScriptedProvider
from moot.providers.scripted.scripts import BUILT_IN_SCRIPTS, SCRIPT_FAULTS, Script, Scripts
from moot.streaming.turn_stream import Limits
from moot.types.chunks import Usage
from tests.support.provider_turns import ProviderServerSetup, run_provider_turn

# These scripts never end by themselves.
ENDLESS_FAULTS = {"endless", "silence", "keepalive"}


@pytest.mark.parametrize("fault", sorted(set(SCRIPT_FAULTS) - ENDLESS_FAULTS))
@pytest.mark.parametrize("api", ["openai"])
async def test_script_in_process_gives_same_result_as_over_http(
    provider_server: ProviderServerSetup, api: Api, fault: str
) -> None:
    in_process = (await run_provider_turn(ScriptedProvider(Scripts(BUILT_IN_SCRIPTS)), fault)).result
    over_http = (await run_provider_turn(provider_server.create_provider(api), fault)).result
    assert in_process.status == over_http.status
    assert (in_process.fault and in_process.fault.kind) == (over_http.fault and over_http.fault.kind)
    assert (in_process.fault and in_process.fault.retryable) == (over_http.fault and over_http.fault.retryable)
    assert bool(in_process.text) == bool(over_http.text)
    if in_process.status in {"completed", "tool_call"}:
        assert (in_process.text, in_process.usage, in_process.finish) == (
            over_http.text,
            over_http.usage,
            over_http.finish,
        )
        assert [call.name for call in in_process.tool_calls] == [call.name for call in over_http.tool_calls]


@pytest.mark.parametrize("fault", sorted(ENDLESS_FAULTS))
async def test_endless_script_is_ended_by_stream_limits(fault: str) -> None:
    limits = Limits(idle=60.0 if fault == "endless" else 0.1, characters=5000)
    result = (await run_provider_turn(ScriptedProvider(Scripts(BUILT_IN_SCRIPTS)), fault, limits=limits)).result
    assert result.status == ("error" if fault == "endless" else "timeout")


async def test_scripted_provider_is_deterministic() -> None:
    first = await run_provider_turn(ScriptedProvider(Scripts(BUILT_IN_SCRIPTS)), "thinker")
    second = await run_provider_turn(ScriptedProvider(Scripts(BUILT_IN_SCRIPTS)), "thinker")
    assert first.events == second.events


def test_script_has_configured_price_and_built_in_scripts_are_free() -> None:
    provider = ScriptedProvider(Scripts({**BUILT_IN_SCRIPTS, "dear": Script(usd_per_million_tokens=2.5)}))
    assert provider.call_cost_usd("dear", Usage(300_000, 100_000)) == 1.0
    assert {provider.call_cost_usd(name, Usage(10**6, 10**6)) for name in BUILT_IN_SCRIPTS} == {0.0}
