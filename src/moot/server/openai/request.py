"""From what an OpenAI client sends to what is put to a table: instructions, what was said before, and the question.

Pure. What cannot be done is refused in words, and never left out silently where the answer would be another one.
"""

import base64
import binascii
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import assert_never
from urllib.parse import unquote_to_bytes

from msgspec import Struct
from msgspec.structs import replace

from moot.prompts.attachments import question, recognised, written_out
from moot.prompts.parts import Enclosed
from moot.server.openai.schemas import (
    Asked,
    AudioPart,
    FilePart,
    ImagePart,
    Part,
    RefusalPart,
    Said,
    TextPart,
)
from moot.types.discussions import Message
from moot.types.errors import UsageError
from moot.types.files import label
from moot.types.participants import Participant, participant_id
from moot.types.primitives import new_id
from moot.types.requests import Effort, File
from moot.types.requests import Message as Told

# What each of these may be without asking for anything; null is nothing everywhere.
NOTHING: Mapping[str, Collection[object]] = {
    "n": (1,),
    "logprobs": (False,),
    "top_logprobs": (0,),
    "logit_bias": ({},),
    "stop": ([], ""),
    "tools": ([],),
    "tool_choice": ("none", "auto"),
    "functions": ([],),
    "function_call": ("none", "auto"),
    "response_format": ({"type": "text"},),
    "modalities": (["text"],),
    "audio": (),
    "web_search_options": (),
}
OWN = ("temperature", "max_tokens", "max_completion_tokens", "reasoning_effort")  # a discussion has its own
SEE_FILES = "See what is attached."
EFFORTS: Mapping[str | None, Effort] = {"low": "low", "medium": "medium", "high": "high", "xhigh": "high"}


class Exchange(Struct, frozen=True, kw_only=True):
    """`earlier` is what was said before the question; `attached` came with that, by message, and `files` with all of it."""

    system: str
    words: str
    question_files: tuple[File, ...]
    earlier: tuple[Message, ...]
    attached: dict[str, tuple[Enclosed, ...]]
    files: tuple[File, ...]

    @property
    def question(self) -> Told:
        return question(self.words, files=self.question_files)


def refuse_unsupported(asked: Asked) -> None:
    """Refuse what no table can do, and what a discussion decides for itself."""
    for field, nothing in NOTHING.items():
        value = getattr(asked, field)
        if value is not None and value not in nothing:
            raise UsageError(f"{field}: a table cannot do that: leave it out.")
    if asked.place is not None:
        for field in OWN:
            if getattr(asked, field) is not None:
                raise UsageError(f"{field}: a discussion has its own settings: leave it out.")


def exchange(asked: Asked, participants: Sequence[Participant]) -> Exchange:
    """Part the question from what was said before it. Answers are those of whom they name, or of the table."""
    said = list(enumerate(asked.messages))
    instructions = [_words(one, place) for place, one in said if one.role in {"system", "developer"}]
    spoken = [(place, one) for place, one in said if one.role not in {"system", "developer"}]
    if not spoken or spoken[-1][1].role != "user":
        raise UsageError("messages: the last one must be of the role user: that is what is answered.")
    (at, last), before = spoken[-1], spoken[:-1]
    earlier: list[Message] = []
    attached: dict[str, tuple[Enclosed, ...]] = {}
    files: list[File] = []
    turn = 0
    for place, one in before:
        turn += one.role == "user"
        message = _message(one, _words(one, place), len(earlier) + 1, turn, participants)
        earlier.append(message)
        if came := list(_files(one, place)):
            attached[message.id] = tuple(Enclosed(written_out(file), name=file.name) for file in came)
            files += came
    now = tuple(_files(last, at))
    words = _words(last, at)
    if not words.strip() and not now:
        raise UsageError(f"messages[{at}].content: it is empty: write something.")
    return Exchange(
        system="\n\n".join(filter(None, instructions)),
        words=_of_a_person(last, words),
        question_files=now,
        earlier=tuple(earlier),
        attached=attached,
        files=(*files, *now),
    )


def settled(asked: Asked, who: Participant) -> Participant:
    """Let a participant be asked as the request says."""
    limit = asked.max_completion_tokens or asked.max_tokens
    return replace(
        who,
        temperature=who.temperature if asked.temperature is None else asked.temperature,
        max_tokens=limit or who.max_tokens,
        thinking=EFFORTS.get(asked.reasoning_effort, who.thinking),
    )


def _message(one: Said, words: str, number: int, turn: int, participants: Sequence[Participant]) -> Message:
    person = one.role == "user"
    speaker = None if person else _speaker(one, participants)
    return Message(
        id=new_id("msg"),
        discussion="",
        run=f"earlier/{turn}",
        role="user" if person else "assistant",
        content=_of_a_person(one, words) if person else words,
        number=number,
        participant=speaker.id if speaker else None,
        name=None if person else speaker.name if speaker else one.name,
        stage=None if person else "answer",
        created_at=time.time(),
    )


def _speaker(one: Said, participants: Sequence[Participant]) -> Participant | None:
    """Find who gave an answer: whoever it names, or the only one who could."""
    if one.name is not None:
        known = {who.id: who for who in participants}
        return known.get(participant_id(one.name))
    return participants[0] if len(participants) == 1 else None


def _of_a_person(one: Said, words: str) -> str:
    words = words if words.strip() else SEE_FILES
    return f"{one.name}: {words}" if one.name else words


def _words(one: Said, place: int) -> str:
    if one.role in {"tool", "function"} or one.tool_calls or one.function_call:
        raise UsageError(f"messages[{place}].role: a table calls no tools of yours: leave such messages out.")
    if isinstance(one.content, str):
        return one.content
    return "\n\n".join(_text(part) for part in one.content or () if isinstance(part, TextPart | RefusalPart))


def _text(part: TextPart | RefusalPart) -> str:
    return part.text if isinstance(part, TextPart) else part.refusal


def _files(one: Said, place: int) -> Iterator[File]:
    for at, part in enumerate(one.content if isinstance(one.content, tuple) else ()):
        field = f"messages[{place}].content[{at}]"
        if (file := _file(part, field)) is not None:
            if one.role != "user":
                raise UsageError(f"{field}: only a message of the role user can have files.")
            yield file


def _file(part: Part, field: str) -> File | None:
    match part:
        case TextPart() | RefusalPart():
            return None
        case ImagePart():
            return _decoded(part.image_url.url, "image", f"{field}.image_url.url")
        case FilePart():
            if part.file.file_data is None:
                raise UsageError(
                    f"{field}.file.file_data: send the file itself, as a data URL: none is kept here."
                )
            return _decoded(part.file.file_data, part.file.filename or "file", f"{field}.file.file_data")
        case AudioPart():
            raise UsageError(f"{field}: a table cannot listen: send text, images or PDF.")
    assert_never(part)


def _decoded(url: str, name: str, field: str) -> File:
    """Read a data URL. Nothing is fetched from elsewhere: who asks could make us look where they cannot."""
    head, comma, body = url.partition(",")
    if not comma or not head.startswith("data:"):
        raise UsageError(
            f"{field}: send it as a data URL, such as data:image/png;base64,…: nothing is fetched."
        )
    try:
        data = base64.b64decode(body, validate=True) if head.endswith(";base64") else unquote_to_bytes(body)
    except (binascii.Error, ValueError) as error:
        raise UsageError(f"{field}: it is not base64.") from error
    return File(label(name), recognised(data, f"{field}: it"), data)
