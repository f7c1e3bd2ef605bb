import pytest

from moot.tools.config import ServerConfig, UserServer, create_configured_toolbox, create_url_toolbox
from moot.types.errors import FeatureUnavailable
from tests.support.tool_servers import TOOL_SERVER_COMMAND, serve_http_tools


def test_tool_is_trusted_by_name_or_by_server_setting() -> None:
    some = ServerConfig(command=("x",), trusted=("look_up",))
    assert (some.trusts_tool("look_up"), some.trusts_tool("write_down")) == (True, False)
    assert ServerConfig(command=("x",), approve="never").trusts_tool("write_down")


async def test_configured_command_lists_tools() -> None:
    toolbox = await create_configured_toolbox("test", ServerConfig(command=TOOL_SERVER_COMMAND, env=("MISSING",)), {})
    assert "write_down" in [info.name for info in await toolbox.list_tools()]
    await toolbox.aclose()


async def test_configured_url_may_be_local_but_user_url_may_not() -> None:
    async with serve_http_tools() as url:
        toolbox = await create_configured_toolbox(
            "test", ServerConfig(url=url, header_env={"Authorization": "KEY"}), {"KEY": "x"}
        )
        assert await toolbox.list_tools()
        await toolbox.aclose()
        theirs = await create_url_toolbox("test", UserServer(url=url, headers={}), allow_private_hosts=False)
        with pytest.raises(FeatureUnavailable, match="private network"):
            await theirs.list_tools()
        await theirs.aclose()


async def test_configured_server_without_header_variable_is_unavailable() -> None:
    config = ServerConfig(url="https://a.example", header_env={"Authorization": "KEY"})
    with pytest.raises(
        FeatureUnavailable,
        match=r"The tool server test cannot be used\. Set the variables of its header_env: KEY",
    ):
        await create_configured_toolbox("test", config, {})


def test_user_server_repr_hides_headers() -> None:
    assert "canary" not in repr(UserServer(url="https://a.example", headers={"A": "canary"}))
