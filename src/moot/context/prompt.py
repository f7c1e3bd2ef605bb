"""What a participant is sent: the layers of its system prompt, and the discussion as seen from its seat.

Pure: the same plan and the same messages give the same request, so what somebody saw can be shown again later.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import groupby

from moot.context.language import name_of
from moot.model.chunks import Text
from moot.model.discussions import Message
from moot.model.participants import Participant
from moot.model.plans import Plan
from moot.model.requests import Message as Told
from moot.model.requests import ModelRequest, Part

IDENTITIES = {"parallel": "side_by_side", "consensus": "roundtable", "continue": "roundtable"}


def prompt(
    plan: Plan,
    who: Participant,
    seen: Sequence[Message],
    instruction: str = "",
    attached: Mapping[str, tuple[Part, ...]] | None = None,
) -> ModelRequest:
    """Write the request for one turn; `attached` are files and the like, by the message they came with."""
    told = [(_role(message, who), _parts(message, who, attached or {})) for message in seen]
    if instruction:
        told.append(("user", (Text(instruction),)))
    return ModelRequest(
        model=who.model,
        system=system_prompt(plan, who),
        messages=tuple(
            Told(
                "assistant" if role == "assistant" else "user",
                tuple(part for _, parts in run for part in parts),
            )
            for role, run in groupby(told, key=lambda pair: pair[0])
        ),
        temperature=who.temperature,
        max_tokens=who.max_tokens,
        thinking=who.thinking,
    )


def system_prompt(plan: Plan, who: Participant) -> str:
    """Put the layers in their order: stable ones first, so that providers can cache them."""
    layers = (plan.personas.get(who.id, ""), _identity(plan, who), plan.project, _language(plan))
    return "\n\n".join(layer.strip() for layer in layers if layer.strip())


@cache
def written(name: str) -> str:
    """Read one of the prompts that ship with Moot."""
    return (files("moot.context") / "prompts" / f"{name}.md").read_text("utf-8").strip()


def _role(message: Message, who: Participant) -> str:
    return "assistant" if message.participant == who.id else "user"


def _parts(message: Message, who: Participant, attached: Mapping[str, tuple[Part, ...]]) -> tuple[Part, ...]:
    if message.participant is None or message.participant == who.id:
        return (*attached.get(message.id, ()), Text(message.content))
    return (Text(f"{message.name} said:\n\n{message.content}"),)


def _identity(plan: Plan, who: Participant) -> str:
    others = [other.name for other in plan.participants if other.id != who.id]
    if not others or plan.mode not in IDENTITIES:
        return ""
    return written(IDENTITIES[plan.mode]).format(name=who.name, others=_listed(others))


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _language(plan: Plan) -> str:
    return written("language").format(language=name_of(plan.language)) if plan.language else ""
