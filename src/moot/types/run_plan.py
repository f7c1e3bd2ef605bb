"""What a run is to do, fixed when it starts: whoever takes it up again sees the same."""

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from moot.types.debate import DebateOptions
from moot.types.model_info import ModelLimits
from moot.types.modes import AdvisorOptions, DirectedOptions
from moot.types.participants import Participant


class RegenerateTarget(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The turn whose answer is to be given anew, and all that could be seen before it."""

    answer: str
    number: int
    run: str
    participant: str
    stage: str
    round: int = 0
    view: str
    upto: int
    instruction: str = ""


class RunPlan(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`personas` holds the prompts of participants that play a part, `project` what is known of the project.

    `rounds` are those of a consensus; `turns` those of a table that goes on by itself, `first` the place of who
    begins then. `to` names those who are spoken to; None is everybody. A participant that is not spoken to neither speaks in
    this run nor ever sees it. `answering` names those of them who answer, in their order, while all hear it; None is all.
    Those who are not `introduced` are told nothing of each other. `debate` are the rules
    of a debate, `advisors` and `directed` those of the modes of that name; `clerk` is the model that keeps minutes
    and makes small decisions, None is the lead's own. `cap` is what the run may cost in US dollars. `measures` are
    those of the models, as far as they were known when it started. Without `minutes` a debate is
    not written up: there is its synthesis, and nothing else is found out. With `again`, nothing happens but one turn of a run
    that had this plan. What is said in a `channel` is remembered there: `memories` are what participants still know of it,
    `people` the names of those who spoke there.
    """

    mode: str
    participants: tuple[Participant, ...]
    personas: dict[str, str] = {}
    project: str = ""
    language: str | None = None
    rounds: int = 2
    turns: int = 1
    first: int = 0
    to: tuple[str, ...] | None = None
    answering: tuple[str, ...] | None = None
    introduced: bool = True
    debate: DebateOptions = DebateOptions()
    advisors: AdvisorOptions = AdvisorOptions()
    directed: DirectedOptions = DirectedOptions()
    clerk: str | None = None
    cap: float | None = None
    measures: dict[str, ModelLimits] = {}
    minutes: bool = True
    again: RegenerateTarget | None = None
    channel: str | None = None
    people: tuple[str, ...] = ()
    memories: dict[str, str] = {}

    @property
    def responding_participants(self) -> tuple[Participant, ...]:
        meant = tuple(who for who in self.participants if self.to is None or who.id in self.to)
        if self.answering is not None:
            places = {id: place for place, id in enumerate(self.answering)}
            meant = tuple(sorted((who for who in meant if who.id in places), key=lambda who: places[who.id]))
        if self.mode != "advisors":
            return meant
        return tuple(who for who in meant if who.active) or meant[:1]

    @property
    def has_advisors(self) -> bool:
        """Tell whether there are advisors to ask; if none is active, somebody answers without being one."""
        return self.mode == "advisors" and any(who.active for who in self.responding_participants)

    @property
    def lead(self) -> Participant:
        """Who sums up: by the rules, else the first of those who speak."""
        return next(
            (who for who in self.responding_participants if who.id == self.debate.lead),
            self.responding_participants[0],
        )

    def with_model(
        self, participant: str, model: str, measures: Mapping[str, ModelLimits] | None = None
    ) -> "RunPlan":
        """Let a participant be asked with another model, of which this much is known."""

        def replace_model(who: Participant) -> Participant:
            return replace(who, model=model) if who.id == participant else who

        # What others on this model were sent must stay as it was.
        is_new = all(who.model != model for who in self.participants)
        known = {**self.measures, **(measures or {})} if is_new else self.measures
        return replace(self, participants=tuple(map(replace_model, self.participants)), measures=known)

    def limits_for_model(self, model: str) -> ModelLimits:
        return self.measures.get(model, ModelLimits())

    def find_participant(self, id: str) -> Participant:
        return next(who for who in self.participants if who.id == id)
