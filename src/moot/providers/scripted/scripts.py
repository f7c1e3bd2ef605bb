"""Scripts for scripted models: answers, timing, tool calls and faults."""

import json
from collections import Counter
from collections.abc import Mapping
from difflib import get_close_matches
from itertools import takewhile
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from moot.types.chunks import FinishReason, Text
from moot.types.errors import BadSettings, UnknownModel
from moot.types.requests import ModelMessage, ModelRequest, ToolResult

SAMPLE_ANSWER = (
    "A table has no head when it is round. Everyone who sits down at it can see everyone else, "
    "and whoever speaks, speaks to all of them at once."
)

# Fault names, with the descriptions that `moot lab list` shows.
SCRIPT_FAULTS: dict[str, str] = {
    "comments": "comment lines, keep-alives and empty data between the events",
    "cr": "events whose lines end in CR",
    "crlf": "events whose lines end in CRLF",
    "bom": "a byte order mark at the start",
    "multiline": "one event spread over several data lines",
    "bytewise": "one byte at a time",
    "separators": "U+2028, U+2029 and U+0085 inside the text",
    "no_finish": "the stream ends without a finish reason",
    "no_done": "a finish reason but no closing event",
    "error_event": "an error event in the middle of a good answer",
    "error_frame": "an error with empty choices as the first event",
    "error_body": "status 200 with an error body",
    "html": "status 200 with a web page",
    "empty": "status 200 and nothing else",
    "empty_choices": "events without choices first and last",
    "no_usage": "no token counts",
    "zero_usage": "token counts of zero",
    "loose_tool": "tool call deltas without an index",
    "cut_tool": "a tool call whose JSON is cut off",
    "stop_with_tools": "tool calls with the finish reason stop",
    "snapshots": "every event holds the whole text so far",
    "repeated_end": "the last event repeats the whole text",
    "broken_json": "an event that is not JSON",
    "nul": "NUL and lone surrogates in the text",
    "silence": "no response at all",
    "keepalive": "endless keep-alives and no content",
    "reset": "the connection is reset in the middle",
    "short_read": "fewer bytes than Content-Length",
    "bad_gzip": "a corrupt gzip body",
    "retry_seconds": "429 with Retry-After in seconds",
    "retry_ms": "429 with Retry-After in milliseconds",
    "retry_date": "429 with Retry-After as a date",
    "server_error": "status 500",
    "overloaded": "status 529",
    "unauthorized": "status 401 that echoes the key",
    "forbidden": "status 403",
    "content_filter": "an answer cut by a content filter",
    "length": "an answer cut at the token limit",
    "huge_line": "a line of a million characters",
    "endless": "an answer that never ends",
    "gzip_bomb": "a gzip body that decompresses without end",
}
FAULT_FINISH_REASONS: dict[str, FinishReason] = {"content_filter": "content_filter", "length": "length"}
SAMPLE_FOLDER = Path(__file__).parent / "samples"

Answer = str | dict[str, Any] | list[Any]  # a table or a list is sent as JSON


class ScriptedTool(Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    arguments: str = "{}"


class Script(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The behaviour of one scripted model, as written in a script file."""

    answer: Answer = SAMPLE_ANSWER  # placeholders: {question}, {system}, {model}
    answer_if_contains: Mapping[str, Answer] = {}  # by a substring of the prompt; the first match replaces `answer`
    thoughts: str = ""
    tool: ScriptedTool | None = None
    tool_calls: int = 1  # how often the model calls `tool` before it answers with `answer_after_tool`
    answer_after_tool: str = "{result}"  # {result} is the result of the last call
    chunk_chars: int = 8  # characters of each text chunk
    delay_seconds: float = 0.0  # seconds before the first chunk
    chunk_interval_seconds: float = 0.0  # seconds between chunks
    finish_reason: FinishReason = "stop"
    fault: str = ""  # a key of SCRIPT_FAULTS
    fault_after_chunks: int = 3  # chunks before the fault
    faulty_calls: int = 0  # how many of the first requests fail; 0: all
    usd_per_million_tokens: float = 0.0  # US dollars per million tokens, input and output

    def answer_for(self, prompt: str) -> str:
        matches = (answer for words, answer in self.answer_if_contains.items() if words in prompt)
        answer = next(matches, self.answer)
        return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False, default=str)


def _read_scripts(path: Path) -> dict[str, Script]:
    decode = msgspec.yaml.decode if path.suffix in {".yaml", ".yml"} else msgspec.toml.decode
    try:
        scripts = decode(path.read_bytes(), type=dict[str, Script])
    except OSError as error:
        raise BadSettings(f"Cannot read the script {path}: {error.strerror}.") from error
    except (msgspec.MsgspecError, ValueError) as error:
        raise BadSettings(f"The script {path} is invalid: {' '.join(str(error).split())}.") from error
    for name, script in scripts.items():
        if script.fault and script.fault not in SCRIPT_FAULTS:
            raise BadSettings(f"{path}: {name}.fault: unknown fault {script.fault!r}. `moot lab list` lists them.")
        if script.chunk_chars < 1:
            raise BadSettings(f"{path}: {name}.chunk_chars: {script.chunk_chars} is too small. It must be 1 or more.")
        if script.usd_per_million_tokens < 0:
            raise BadSettings(
                f"{path}: {name}.usd_per_million_tokens: {script.usd_per_million_tokens} is negative. It must be 0 or more."
            )
    return scripts


LOOK_UP_TOOL = ScriptedTool("look_up", '{"word": "moot"}')

BUILT_IN_SCRIPTS: dict[str, Script] = {
    "echo": Script(answer="{question}"),
    "slow": Script(delay_seconds=0.5, chunk_interval_seconds=0.25),
    "steady": Script(chunk_interval_seconds=0.03),
    "long": Script(answer=" ".join([SAMPLE_ANSWER] * 4), chunk_interval_seconds=0.25),
    "thinker": Script(
        thoughts="Who sits where? A round table answers that by not asking.", chunk_interval_seconds=0.03
    ),
    "tool": Script(answer="", tool=LOOK_UP_TOOL),
    "librarian": Script(
        answer="Let me look that up.",
        tool=ScriptedTool("moot__search_knowledge", '{"query": "table"}'),
        answer_after_tool="This is what is known:\n\n{result}",
        chunk_interval_seconds=0.01,
    ),
    "flaky": Script(fault="overloaded", faulty_calls=1),
    **_read_scripts(SAMPLE_FOLDER / "debate.yaml"),
    **_read_scripts(SAMPLE_FOLDER / "lesson.yaml"),
    **_read_scripts(SAMPLE_FOLDER / "evaluation.yaml"),
    **{name: Script(fault=name) for name in SCRIPT_FAULTS},
    "separators": Script(fault="separators", answer="one\u2028two\u2029three\u0085four"),
    "nul": Script(fault="nul", answer="no\0thing is \ud800 lost"),
    **{name: Script(fault=name, tool=LOOK_UP_TOOL) for name in ("loose_tool", "cut_tool", "stop_with_tools")},
}


def load_scripts(path: Path | None) -> dict[str, Script]:
    """Return the built-in scripts and those of a TOML or YAML file with one script per table. Raises BadSettings."""
    return {**BUILT_IN_SCRIPTS, **(_read_scripts(path) if path else {})}


class ScriptedReply(Struct, frozen=True):
    """The reply of a script to one request."""

    script: Script
    answer: str
    fault: str  # empty if this reply succeeds
    input_tokens: int
    tool: ScriptedTool | None = None

    def text_pieces(self) -> list[str]:
        size = self.script.chunk_chars
        return [self.answer[at : at + size] for at in range(0, len(self.answer), size)]

    @property
    def finish_reason(self) -> FinishReason:
        return FAULT_FINISH_REASONS.get(self.fault, self.script.finish_reason)

    @property
    def output_tokens(self) -> int:
        return -(-(len(self.answer) + len(self.script.thoughts)) // 4)


class Scripts:
    """All scripts by name. Counts the requests of each, since a fault may stop after some of them."""

    def __init__(self, scripts: Mapping[str, Script] = BUILT_IN_SCRIPTS) -> None:
        self.by_name = dict(scripts)
        self._call_counts: Counter[str] = Counter()

    def check_script(self, name: str) -> None:
        if name not in self.by_name:
            matches = get_close_matches(name, self.by_name, n=1)
            hint = f"Did you mean {matches[0]!r}?" if matches else "`moot lab list` lists them."
            raise UnknownModel(f"There is no script called {name!r}. {hint}")

    def next_reply(self, request: ModelRequest) -> ScriptedReply:
        name = request.model
        script = self.by_name[name]
        self._call_counts[name] += 1
        faulty = not script.faulty_calls or self._call_counts[name] <= script.faulty_calls
        values = {"question": last_user_text(request), "system": request.system, "model": name}
        results = tool_results(request)
        tool = script.tool if len(results) < script.tool_calls else None
        answer = script.answer_for(f"{request.system}\n{values['question']}")
        if results:
            answer = "" if tool else script.answer_after_tool.replace("{result}", results[-1])
        for placeholder, value in values.items():
            answer = answer.replace(f"{{{placeholder}}}", value)
        prompt_chars = len(values["question"]) + sum(map(len, results))
        return ScriptedReply(script, answer, script.fault if faulty else "", prompt_chars // 4 + 1, tool)


def last_user_text(request: ModelRequest) -> str:
    """Return the text of the last user message. Messages with tool results are skipped."""
    user_messages = (m for m in reversed(request.messages) if m.role == "user" and not _message_tool_results(m))
    parts = next(user_messages).parts if request.messages else ()
    return "\n\n".join(part.text for part in parts if isinstance(part, Text))


def tool_results(request: ModelRequest) -> list[str]:
    """Return the last tool result of each round of calls since the last user message."""
    rounds = takewhile(lambda m: m.role == "assistant" or _message_tool_results(m), reversed(request.messages))
    return [found[-1] for message in reversed(list(rounds)) if (found := _message_tool_results(message))]


def _message_tool_results(message: ModelMessage) -> list[str]:
    return [part.content for part in message.parts if isinstance(part, ToolResult)]
