"""Routes for personas. Shipped personas are read-only."""

from litestar import Controller, delete, get, patch, post
from litestar.di import NamedDependency as Given
from litestar.params import FromPath, JSONBody

from moot.server.requests import PageCursor, PageLimit
from moot.store.library.personas import Personas
from moot.types.accounts import Caller
from moot.types.personas import Persona, PersonaChange, PersonaDraft, PersonaPage


class PersonaRoutes(Controller):
    path = "/api/personas"
    tags = ("personas",)

    @get(summary="List shipped personas and your own, newest first")
    async def list_personas(
        self, caller: Given[Caller], personas: Given[Personas], cursor: PageCursor = None, limit: PageLimit = 50
    ) -> PersonaPage:
        return await personas.list_personas(caller.tenant, cursor=cursor, limit=limit)

    @post(summary="Create a persona")
    async def create_persona(
        self, data: JSONBody[PersonaDraft], caller: Given[Caller], personas: Given[Personas]
    ) -> Persona:
        return await personas.create_persona(caller.tenant, data)

    @get("/{id:str}", summary="Get a persona")
    async def get_persona(self, id: FromPath[str], caller: Given[Caller], personas: Given[Personas]) -> Persona:
        return await personas.get_persona(caller.tenant, id)

    @patch("/{id:str}", summary="Change one of your personas; omitted fields keep their value")
    async def update_persona(
        self, id: FromPath[str], data: JSONBody[PersonaChange], caller: Given[Caller], personas: Given[Personas]
    ) -> Persona:
        return await personas.update_persona(caller.tenant, id, data)

    @delete("/{id:str}", summary="Delete one of your personas; discussions continue without it")
    async def delete_persona(self, id: FromPath[str], caller: Given[Caller], personas: Given[Personas]) -> None:
        await personas.delete_persona(caller.tenant, id)
