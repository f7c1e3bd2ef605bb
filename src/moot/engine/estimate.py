"""A guess at tokens where a provider counts none: four characters a token."""

from moot.model.chunks import Text, Thought, ToolCall, Usage
from moot.model.requests import File, ModelRequest, Part, ToolResult

CHARACTERS_A_TOKEN = 4
TOKENS_A_FILE = 1000


def estimate(request: ModelRequest, heard: str) -> Usage:
    sent = tokens(request.system) + sum(_part(part) for m in request.messages for part in m.parts)
    return Usage(input=sent, output=tokens(heard), estimated=True)


def _part(part: Part) -> int:
    match part:
        case Text(text) | Thought(text):
            return tokens(text)
        case ToolCall(_, _, arguments):
            return tokens(arguments)
        case ToolResult(_, _, content):
            return tokens(content)
        case File():
            return TOKENS_A_FILE


def tokens(text: str) -> int:
    return -(-len(text) // CHARACTERS_A_TOKEN)
