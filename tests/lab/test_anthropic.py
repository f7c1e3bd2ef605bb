"""The server's side of the format must read what our own client writes; what it answers is read back elsewhere."""

from typing import Any

import msgspec

from moot.lab.anthropic import AnthropicDialect
from moot.lab.dialect import encoded
from moot.model.chunks import Failed
from moot.model.profiles import Profile
from moot.model.requests import File, ModelRequest, assistant, user
from moot.providers.anthropic import AnthropicReader, AnthropicWire
from moot.providers.scripts import question


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
