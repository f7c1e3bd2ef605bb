"""The server's side of the format must read what our own client writes; what it answers is read back elsewhere."""

from typing import Any

import msgspec

from moot.providers.anthropic import AnthropicReader, AnthropicWire
from moot.providers.scripted.scripts import question
from moot.testing.wire_formats.anthropic import AnthropicDialect
from moot.testing.wire_formats.dialect import encoded
from moot.types.chunks import Failed
from moot.types.model_info import Profile
from moot.types.requests import File, ModelRequest, assistant, user


def test_it_reads_what_the_client_writes() -> None:
    asked = ModelRequest(
        model="echo",
        system="Be brief.",
        messages=(user("old"), assistant("ok"), user("new", File("a.png", "image/png", b"png"))),
    )
    body: Any = msgspec.json.decode(AnthropicWire().body(asked, Profile()))
    heard = AnthropicDialect().request(body, "echo")
    assert (heard.model, heard.system) == ("echo", "Be brief.")
    assert question(heard).strip() == "new"


def test_its_errors_are_classified_by_our_client() -> None:
    for status, kind in ((429, "rate_limit"), (529, "overloaded"), (401, "auth")):
        frame = encoded(AnthropicDialect().error(status, "no"))
        (failed,) = AnthropicReader("lab").read(frame)
        assert isinstance(failed, Failed)
        assert failed.fault.kind == kind
