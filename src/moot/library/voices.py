"""Who sits at a table that a program sets: models, and whom they play."""

from collections.abc import Sequence

from msgspec import Struct

from moot.context.library import part, shipped
from moot.model.directed import LessonRole
from moot.model.errors import NotFound, UsageError
from moot.model.modes import ModeName
from moot.model.participants import Participant, default_names, participant_id
from moot.model.personas import Persona
from moot.model.requests import Effort


class Voice(Struct, frozen=True, kw_only=True):
    """Somebody at the table: a model, and perhaps a name and who it is, by a `persona` of the library or in a `prompt`."""

    model: str
    name: str | None = None
    persona: str | None = None
    prompt: str = ""
    temperature: float | None = None
    max_tokens: int | None = None
    thinking: Effort | None = None
    role: LessonRole | None = None


def seated(wanted: Sequence[str | Voice], mode: ModeName | None) -> list[tuple[Participant, Voice]]:
    """Give everybody a seat: under its own name or its persona's, or as Alpha, Beta and so on."""
    seats: dict[str, tuple[Participant, Voice]] = {}
    for place, (one, usual) in enumerate(zip(wanted, default_names(), strict=False)):
        voice = Voice(model=one) if isinstance(one, str) else one
        name = voice.name or (_persona(voice.persona).name if voice.persona else usual)
        id = participant_id(name)
        if id in seats:
            raise UsageError(f"Two are called {name!r}: give one of them another name.")
        lesson: LessonRole = "student" if place else "teacher"
        who = Participant(
            id=id,
            name=name,
            model=voice.model,
            temperature=voice.temperature,
            max_tokens=voice.max_tokens,
            thinking=voice.thinking,
            role=voice.role or (lesson if mode == "directed" else None),
        )
        seats[id] = (who, voice)
    return list(seats.values())


def prompt(voice: Voice, system: str) -> str:
    own = part(_persona(voice.persona)) if voice.persona else ""
    return "\n\n".join(filter(None, (own, voice.prompt, system)))


def _persona(wanted: str) -> Persona:
    """Find a persona of the library by its name or id."""
    for one in shipped():
        if wanted.casefold() in {one.id, one.id.removeprefix("shipped_"), one.name.casefold()}:
            return one
    raise NotFound(f"There is no persona {wanted!r}: there are {', '.join(one.name for one in shipped())}.")
