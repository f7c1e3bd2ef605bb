from dataclasses import fields

from moot.server.services import Services
from web.api_types import STRUCTS


def test_no_request_field_has_name_of_service() -> None:
    """Litestar would inject the service for such a field of a request."""
    request_fields = {
        field.encode_name
        for shape in STRUCTS
        if shape.cls.__struct_config__.forbid_unknown_fields
        for field in shape.fields
    }
    assert request_fields.isdisjoint(field.name for field in fields(Services))
