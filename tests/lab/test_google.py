"""The server's side of the format must read what our own client writes; what it answers is read back elsewhere."""

from typing import Any

import msgspec

from moot.lab.google import GoogleDialect
from moot.model.profiles import Profile
from moot.model.requests import File, ModelRequest, assistant, user
from moot.providers.google import GoogleWire
from moot.providers.scripts import question


def test_it_reads_what_the_client_writes() -> None:
    asked = ModelRequest(
        model="echo",
        system="Be brief.",
        messages=(user("old"), assistant("ok"), user("new", File("a.png", "image/png", b"png"))),
    )
    body: Any = msgspec.json.decode(GoogleWire().body(asked, Profile()))
    heard = GoogleDialect().request(body, "echo")
    assert (heard.model, heard.system) == ("echo", "Be brief.")
    assert question(heard).strip() == "new"


def test_its_errors_carry_the_status() -> None:
    assert "Too many" in str(GoogleDialect().error(429, "Too many"))
