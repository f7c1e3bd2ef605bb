"""What a program asks for, held to the same limits as what is asked for over the API."""

from collections.abc import Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, replace

from moot.engine.seating import Wanted
from moot.library.voices import Voice
from moot.model.advisors import Advisors
from moot.model.debates import Debate
from moot.model.directed import Directed
from moot.model.errors import UsageError
from moot.model.modes import ModeName
from moot.model.plans import Plan
from moot.server.bodies import AdvisorRules, Cap, DebateRules, LessonRules, Rounds

Rules = Debate | Advisors | Directed


class Asked(Struct, frozen=True, kw_only=True):
    models: list[str | Wanted]
    mode: ModeName | None
    rounds: Rounds
    cap: Cap | None
    debate: DebateRules | None = None
    advisors: AdvisorRules | None = None
    directed: LessonRules | None = None

    def ruled(self, plan: Plan) -> Plan:
        """Give a plan its rules, which those who sit there must be able to keep."""
        return replace(
            plan,
            debate=self.debate.checked(plan.participants) if self.debate else plan.debate,
            advisors=self.advisors.checked() if self.advisors else plan.advisors,
            directed=self.directed.checked(plan.participants) if self.directed else plan.directed,
        )


def asked(
    models: Sequence[str | Voice], mode: ModeName | None, rules: Rules | None, rounds: int, cap: float | None
) -> Asked:
    """Check each for itself, and name what does not fit."""
    is_list = isinstance(models, Sequence) and not isinstance(models, str)
    wanted = {"models": [_seat(one) for one in models] if is_list else models, "mode": mode}
    ruled = {type(rules).__name__.lower(): asdict(rules)} if isinstance(rules, Rules) else {}
    try:
        return msgspec.convert({**wanted, **ruled, "rounds": rounds, "cap": cap}, Asked)
    except msgspec.ValidationError as error:
        raise UsageError(_words(str(error))) from None


def _seat(one: str | Voice) -> object:
    """Write a voice as a seat; its prompt is for nobody to check."""
    if not isinstance(one, Voice):
        return one
    return {name: value for name, value in asdict(one).items() if name != "prompt"}


def _words(said: str) -> str:
    from moot.server.wording import worded  # noqa: PLC0415 - it loads the server, for words that are seldom needed

    message, _, path = said.rpartition(" - at `$.")
    field = path.rstrip("`")
    return f"{field}: {worded(message, Asked, field)}"
