"""The plan of a run: all its input, stored when the run starts.

After a crash another worker resumes from the stored plan, so later changes of discussion or settings have no effect.
"""

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from moot.types.model_info import ModelLimits
from moot.types.modes import MODES, AdvisorOptions, DebateOptions, DirectedOptions, ModeSpec
from moot.types.participants import Participant


class RegenerateTarget(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The turn to regenerate and the input of its original prompt."""

    answer: str  # message id of the first version
    seq: int  # `Message.seq` of the first version
    run: str  # id of the run that contains the turn
    participant: str
    stage: str
    round: int = 0
    view: str
    visible_until: int  # `Message.seq` of the newest message in the prompt
    instructions: str = ""


class RunPlan(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Input of a run, serialized with its row. Prompts of a resumed run depend only on it and on messages."""

    mode: str
    participants: tuple[Participant, ...]
    personas: dict[str, str] = {}  # persona prompts by participant id
    project: str = ""  # project facts for the prompt
    language: str | None = None
    rounds: int = 2  # consensus mode
    turns: int = 1  # auto-continue: number of turns
    first_position: int = 0  # auto-continue: index of the first speaker
    to: tuple[str, ...] | None = None  # addressed participant ids; others never see this run; None: all
    responders: tuple[str, ...] | None = None  # addressed participants that respond, in this order; None: all
    knows_others: bool = True  # prompts list the other participants
    debate: DebateOptions = DebateOptions()
    advisors: AdvisorOptions = AdvisorOptions()
    directed: DirectedOptions = DirectedOptions()
    task_model: str | None = None  # model for analysis tasks; None: the lead's model
    max_cost_usd: float | None = None  # maximum cost of the run in US dollars; None: no limit
    model_limits: dict[str, ModelLimits] = {}  # limits by model, as known at the start
    debate_report: bool = True  # debate mode: run the analysis tasks; False: synthesis only
    regenerate: RegenerateTarget | None = None  # regenerate this turn instead of running the mode
    channel: str | None = None  # Discord channel id whose memory stores the messages
    human_names: tuple[str, ...] = ()  # names of Discord users in the channel
    memories: dict[str, str] = {}  # memory of the channel by participant id

    @property
    def spec(self) -> ModeSpec:
        return MODES[self.mode]

    def has_stage(self, stage: str) -> bool:
        """Whether the mode has this stage, and no option of the same name turns it off."""
        options = getattr(self, self.mode) if self.spec.options else None
        return stage in self.spec.stages and getattr(options, stage, True)

    @property
    def responding_participants(self) -> tuple[Participant, ...]:
        """Participants that speak in this run, in order. Never empty with private threads, even if none is active."""
        addressed = tuple(who for who in self.participants if self.to is None or who.id in self.to)
        if self.responders is not None:
            order = {id: index for index, id in enumerate(self.responders)}
            responders = (who for who in addressed if who.id in order)
            addressed = tuple(sorted(responders, key=lambda who: order[who.id]))
        if not self.spec.private_threads:
            return addressed
        return tuple(who for who in addressed if who.active) or addressed[:1]

    @property
    def has_advisors(self) -> bool:
        """False if no advisor is active; then the first participant gives a plain answer."""
        return self.spec.private_threads and any(who.active for who in self.responding_participants)

    @property
    def lead(self) -> Participant:
        """The participant in `debate.lead`, or the first that responds."""
        return next(
            (who for who in self.responding_participants if who.id == self.debate.lead), self.responding_participants[0]
        )

    def with_model(
        self, participant: str, model: str, model_limits: Mapping[str, ModelLimits] | None = None
    ) -> "RunPlan":
        """Return a copy in which the participant uses another model. `model_limits` holds the limits of that model."""

        def replace_model(who: Participant) -> Participant:
            return replace(who, model=model) if who.id == participant else who

        # Keep known limits: prompts already sent to this model must render identically on replay.
        is_new = all(who.model != model for who in self.participants)
        known = {**self.model_limits, **(model_limits or {})} if is_new else self.model_limits
        return replace(self, participants=tuple(map(replace_model, self.participants)), model_limits=known)

    def limits_for_model(self, model: str) -> ModelLimits:
        return self.model_limits.get(model, ModelLimits())

    def find_participant(self, id: str) -> Participant:
        return next(who for who in self.participants if who.id == id)
