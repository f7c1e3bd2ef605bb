"""Trials over HTTP: assertions about an answer, improving what gave it, and accepting that or undoing it."""

from typing import Annotated, Any

from litestar import Controller, Request, Response, get, post
from litestar.di import NamedDependency as Given
from litestar.params import FromPath, JSONBody
from msgspec import Meta, Struct

from moot.prompts.tasks.evaluation import LONGEST, MOST, assertions_in
from moot.server.auth import Revocations
from moot.server.disconnects import while_waited_for
from moot.server.rate_limits import start_rate
from moot.server.sse import MEDIA_TYPE, Readers, begun
from moot.services.discussions import Hall
from moot.services.evaluations.accept import Accepting
from moot.services.evaluations.improve import Improvements
from moot.services.evaluations.judge import Court, Judged
from moot.services.participants import Seating
from moot.store.discussions.discussions import Discussions
from moot.store.library.evaluations import Trials
from moot.types.accounts import Caller
from moot.types.evaluations import Trial
from moot.types.primitives import ModelName


class Asserted(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`assertions` are read one a line. `judge` is who decides; left out, the clerk, or else the answer's own model."""

    assertions: Annotated[str, Meta(min_length=1, max_length=2 * MOST * LONGEST)]
    judge: ModelName | None = None


class TrialRoutes(Controller):
    path = "/api"
    tags = ("trials",)

    @post("/messages/{id:str}/assertions", guards=[start_rate], summary="Judge an answer by assertions")
    async def judge(
        self,
        id: FromPath[str],
        data: JSONBody[Asserted],
        request: Request[Caller, Any, Any],
        hall: Given[Hall],
        seating: Given[Seating],
        revocations: Given[Revocations],
        court: Given[Court],
    ) -> Judged:
        """Answer when the judge has: whether each assertion passes, and why."""
        hall.refuse_if_leaving()
        asserted = assertions_in(data.assertions)
        if data.judge is not None:
            seating.check(data.judge, "judge")
        judging = court.judge(request.user, id, asserted, data.judge)
        return await while_waited_for(request, revocations, judging)

    @get("/messages/{id:str}/assertions", summary="List the trials of an answer, newest first")
    async def of_message(
        self, id: FromPath[str], caller: Given[Caller], discussions: Given[Discussions], trials: Given[Trials]
    ) -> tuple[Trial, ...]:
        found = await discussions.find_message(caller.tenant, id)
        return await trials.of_message(caller.tenant, found.id)

    @get("/trials/{id:str}", summary="Read a trial with its rounds")
    async def read(self, id: FromPath[str], caller: Given[Caller], trials: Given[Trials]) -> Trial:
        return await trials.get(caller.tenant, id)

    @post(
        "/trials/{id:str}/improve",
        status_code=200,
        guards=[start_rate],
        media_type=MEDIA_TYPE,
        summary="Improve what gave the answer, round by round, as server-sent events",
    )
    async def improve(
        self,
        id: FromPath[str],
        caller: Given[Caller],
        hall: Given[Hall],
        improvements: Given[Improvements],
        readers: Given[Readers],
    ) -> Response[str]:
        """Leave the stream to stop. Finished rounds are kept, and the same call goes on after them.

        Ten rounds are the most for a trial; nothing is applied before it is accepted.
        """
        hall.refuse_if_leaving()
        return readers.stream(await begun(improvements.improve(caller, id)), caller)

    @post("/trials/{id:str}/accept", status_code=200, summary="Apply the best round of a trial")
    async def accept(self, id: FromPath[str], caller: Given[Caller], accepting: Given[Accepting]) -> Trial:
        """Change your own persona; of a shipped one, or none, make a new one that the participant plays from now on."""
        return await accepting.accept(caller, id)

    @post(
        "/trials/{id:str}/undo",
        status_code=200,
        summary="Put back what was there before a trial was accepted",
    )
    async def undo(self, id: FromPath[str], caller: Given[Caller], accepting: Given[Accepting]) -> Trial:
        """Refused where it was changed since."""
        return await accepting.undo(caller, id)
