"""Value types for posting to Discord: delivery steps and request payloads, with tables laid out as images."""

import io
import re
from hashlib import sha256
from zlib import crc32

import discord
from msgspec import Struct, ValidationError, convert

from moot.discord.approvals import ApprovalKey
from moot.discord.format.messages import MOOT_AUTHOR, SMALL_PRINT_PREFIX, MessageAuthor, PlannedMessage, strip_markdown
from moot.types.drawing import DrawTable
from moot.types.events import TurnKey
from moot.types.participants import Participant
from moot.whiteboard.geometry import CANVAS_WIDTH
from moot.whiteboard.state import EMPTY_BOARD, Board, apply_action

DEFAULT_AVATAR_COUNT = 6  # Discord's default avatars
TABLE_MARGIN, ROW_HEIGHT = 20, 40
SEPARATOR_ROW = re.compile(r"^[\s|:-]+$")
CELL_SEPARATOR = re.compile(r"(?<!\\)\|")


class Retract(Struct, frozen=True, kw_only=True):
    """Delete the messages at these positions, and do not send those that are still queued."""

    position: int
    retracted_positions: tuple[int, ...]


class ResolvePrompt(Struct, frozen=True, kw_only=True):
    """Replace an approval prompt with its outcome, and remove its buttons."""

    position: int
    prompt_position: int
    text: str


class DropPending(Struct, frozen=True):
    """Drop the queued messages of an interrupted turn or run."""

    turn_key: TurnKey | None = None  # None: the whole run


DeliveryStep = PlannedMessage | Retract | ResolvePrompt | DropPending


def participant_author(who: Participant) -> MessageAuthor:
    """Use the participant's avatar if its URL is https, else a default avatar derived from its id."""
    if (who.avatar or "").startswith("https://"):
        return MessageAuthor(who.name, who.avatar)
    index = crc32(who.id.encode()) % DEFAULT_AVATAR_COUNT
    return MessageAuthor(who.name, f"https://cdn.discordapp.com/embed/avatars/{index}.png")


class ImageAttachment(Struct, frozen=True):
    name: str
    data: bytes

    def to_discord_file(self) -> discord.File:
        """Return a new file object on each call. discord.py closes it after sending."""
        return discord.File(io.BytesIO(self.data), self.name)


def build_table_board(text: str) -> tuple[Board, float] | None:
    """Lay a Markdown table out as an image, which Discord cannot render, and return it with its height.

    Returns None if the table has no row, or more rows or columns than the whiteboard schema allows.
    """
    rows = parse_table_rows(text)
    height = ROW_HEIGHT * len(rows)
    fields = {"x": TABLE_MARGIN, "y": TABLE_MARGIN, "width": CANVAS_WIDTH - 2 * TABLE_MARGIN, "height": height}
    try:
        action = convert({"name": "wb_draw_table", **fields, "data": rows}, DrawTable)
    except ValidationError:
        return None
    return apply_action(EMPTY_BOARD, action), 2 * TABLE_MARGIN + height


def parse_table_rows(text: str) -> list[list[str]]:
    """Parse the cells. Skips the separator row and lines that are not rows."""
    lines = [line.strip() for line in text.splitlines() if line.strip().startswith("|")]
    rows = [line.removeprefix("|").removesuffix("|") for line in lines if not SEPARATOR_ROW.match(line)]
    return [[cell.replace("\\|", "|").strip() for cell in CELL_SEPARATOR.split(row)] for row in rows]


class MessagePayload(Struct, frozen=True, kw_only=True):
    key: str  # stable across retries and restarts; the nonce is derived from it
    text: str
    author: MessageAuthor
    image: ImageAttachment | None = None
    approval: ApprovalKey | None = None  # adds the approval buttons
    earliest_arrival: float = 0.0  # Unix time; the message cannot be older than this

    @property
    def nonce(self) -> str:
        return sha256(self.key.encode()).hexdigest()[:24]

    @property
    def username(self) -> str:
        return _sanitize_username(self.author.name)

    @property
    def text_with_name(self) -> str:
        """Text with the author's name as a prefix, for messages that are sent without a webhook."""
        if self.author.name == MOOT_AUTHOR.name or self.text.startswith(SMALL_PRINT_PREFIX):
            return self.text
        return f"**{strip_markdown(self.author.name)}:** {self.text}"

    def discord_files(self) -> list[discord.File]:
        return [self.image.to_discord_file()] if self.image else []


def _sanitize_username(name: str) -> str:
    """Break up the words that Discord rejects in webhook names, and truncate to its limit."""
    for word in ("discord", "clyde"):
        at = name.lower().find(word)
        while at >= 0:
            name = f"{name[: at + 1]}-{name[at + 1 :]}"
            at = name.lower().find(word)
    return name[:80].strip() or MOOT_AUTHOR.name
