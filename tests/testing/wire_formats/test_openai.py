"""The fake server must parse the requests of our client. Other tests parse its responses."""

from typing import Any

import msgspec

from moot.providers.openai import OpenAIStreamDecoder, OpenAIWireFormat
from moot.providers.scripted.scripts import last_user_text
from moot.testing.wire_formats.dialect import encode_frame
from moot.testing.wire_formats.openai import OpenAIDialect
from moot.types.chunks import Failed
from moot.types.model_info import Profile
from moot.types.requests import File, ModelRequest, assistant_message, user_message


def test_openai_dialect_reads_request_of_own_client() -> None:
    asked = ModelRequest(
        model="echo",
        system="Be brief.",
        messages=(
            user_message("old"),
            assistant_message("ok"),
            user_message("new", File("a.png", "image/png", b"png")),
        ),
    )
    body: Any = msgspec.json.decode(OpenAIWireFormat().encode_request(asked, Profile()))
    request = OpenAIDialect().parse_request(body, "echo")
    assert (request.model, request.system) == ("echo", "Be brief.")
    assert last_user_text(request).strip() == "new"


def test_openai_dialect_errors_are_classified_by_own_client() -> None:
    for status, kind in ((429, "rate_limit"), (529, "overloaded"), (401, "auth")):
        frame = encode_frame(OpenAIDialect().error_frame(status, "no"))
        (failed,) = OpenAIStreamDecoder("lab").decode_frame(frame)
        assert isinstance(failed, Failed)
        assert failed.fault.kind == kind
