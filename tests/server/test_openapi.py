"""How the description is built. tests/test_openapi.py checks that it is true."""

from copy import deepcopy
from typing import Annotated, Any

import msgspec
import pytest
from litestar import Litestar, Response, get, post
from litestar.params import FromPath, JSONBody
from litestar.testing import TestClient
from msgspec import Meta, Struct

from moot.server import openapi
from moot.server.auth import OPEN_TO_ALL
from web.api_types import STRUCTS


class Seat(Struct, forbid_unknown_fields=True, rename="camel"):
    legs: Annotated[int, Meta(ge=0, le=8)]
    # Where it
    # stands.
    place_name: str = ""  # type: ignore[assignment, unused-ignore]
    colour: str | None = None  # None: not painted


class Chair(Seat, forbid_unknown_fields=True, rename="camel"):
    colour: str | None = None
    seat: Annotated[str, Meta(description="What it is made of")] = "wood"  # a material


@get("/chairs/{id:str}", tags=["chairs"])
async def read(id: FromPath[str]) -> Chair:
    """Return one chair."""
    return Chair(4)


@post("/chairs", tags=["chairs"], opt=OPEN_TO_ALL)
async def make(data: JSONBody[Chair]) -> Response[Chair]:
    return Response(data)


@post("/chairs/{id:str}/sit", tags=["chairs"], status_code=204)
async def sit(id: FromPath[str], data: JSONBody[Chair | None] = None) -> Response[None]:
    return Response(None)


@get("/api/discussions/{id:str}/whiteboard.png", tags=["chairs"], media_type="image/png")
async def picture(id: FromPath[str]) -> Response[bytes]:
    return Response(b"", media_type="image/png")


@get("/chairs/{id:str}/sound", tags=["chairs"], media_type="text/plain")
async def sound(id: FromPath[str]) -> Response[str]:
    return Response("creak")


@pytest.fixture(scope="module")
def description() -> Any:
    with TestClient(
        Litestar([read, make, sit, picture, sound], openapi_config=openapi.create_openapi_config())
    ) as client:
        first, again = client.get("/api/openapi.json"), client.get("/api/openapi.json")
    assert first.content == again.content
    assert first.headers["Content-Type"] == "application/json"
    return first.json()


def test_schemas_are_those_used_for_validation(description: Any) -> None:
    described = deepcopy(description["components"]["schemas"]["Chair"])
    for field in ("placeName", "colour"):
        del described["properties"][field]["description"]
    assert described == msgspec.json.schema_components([Chair])[1]["Chair"]
    operation = description["paths"]["/chairs"]["post"]
    chair = {"application/json": {"schema": {"$ref": "#/components/schemas/Chair"}}}
    assert operation["requestBody"] == {"required": True, "content": chair}
    assert operation["responses"]["201"]["content"] == chair
    assert description["paths"]["/chairs/{id}"]["get"]["responses"]["200"]["content"] == chair


def test_fields_have_the_comments_in_the_source_as_descriptions(description: Any) -> None:
    fields = description["components"]["schemas"]["Chair"]["properties"]
    assert {name: field.get("description") for name, field in fields.items()} == {
        "legs": None,
        "placeName": "Where it stands.",
        "colour": "null: not painted",
        "seat": "What it is made of",
    }


def test_struct_without_source_has_no_comments() -> None:
    assert openapi.struct_comments(msgspec.defstruct("Stool", [("legs", int)], module="msgspec")) == {}


def test_comments_of_all_api_fields_are_in_the_document() -> None:
    structs = {info.cls: None for info in STRUCTS}
    _, components = msgspec.json.schema_components(structs)
    openapi.describe_fields(components, structs)
    found = {
        (struct.__name__, name): comment
        for struct in structs
        for name, comment in openapi.struct_comments(struct).items()
    }
    described = {
        (struct, name): field.get("description")
        for struct, schema in components.items()
        for name, field in schema.get("properties", {}).items()
    }
    assert len(found) > 200
    assert {key: described[key] for key in found} == found
    assert found["RunReport", "cost_usd"] == "US dollars, without calls of unknown price"
    assert found["MessageDraft", "to"] == "Participant ids. Only these participants see the message and answer it."
    assert found["Estimate", "remaining_usd"] == "US dollars left of the weekly budget; null: no budget"


def test_optional_body_is_not_required(description: Any) -> None:
    operation = description["paths"]["/chairs/{id}/sit"]["post"]
    assert operation["requestBody"]["required"] is False
    assert "content" not in operation["responses"]["204"]


def test_text_response_has_text_media_type(description: Any) -> None:
    content = description["paths"]["/chairs/{id}/sound"]["get"]["responses"]["200"]["content"]
    assert list(content) == ["text/plain"]


def test_picture_is_described_by_its_media_type(description: Any) -> None:
    answer = description["paths"]["/api/discussions/{id}/whiteboard.png"]["get"]["responses"]["200"]
    assert answer["content"] == {"image/png": {"schema": {"type": "string", "format": "binary"}}}


def test_operations_have_id_and_docstring_of_handler(description: Any) -> None:
    operation = description["paths"]["/chairs/{id}"]["get"]
    assert (operation["operationId"], operation["description"]) == ("read", "Return one chair.")


def test_operations_list_only_possible_error_statuses(description: Any) -> None:
    paths = description["paths"]
    assert {"400", "401", "404"} <= paths["/chairs/{id}"]["get"]["responses"].keys()
    assert not {"409", "413", "415"} & paths["/chairs/{id}"]["get"]["responses"].keys()
    assert {"404", "409", "413", "415"} <= paths["/chairs"]["post"]["responses"].keys()
    problem = paths["/chairs"]["post"]["responses"]["400"]
    assert problem["content"] == {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}


def test_public_operation_requires_no_security(description: Any) -> None:
    assert description["paths"]["/chairs"]["post"]["security"] == []
    assert "security" not in description["paths"]["/chairs/{id}"]["get"]
