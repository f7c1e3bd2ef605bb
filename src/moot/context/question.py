"""A question as it is sent: the words, what was piped in, and files; text files are written out."""

import re
from collections.abc import Sequence

from moot.model.chunks import Text
from moot.model.profiles import file_kind
from moot.model.requests import File, Message, Part, user

FENCE = 3
TICKS = re.compile("`+")


def question(words: str, piped: str = "", files: Sequence[File] = ()) -> Message:
    """Put material first and the question last, where models attend to it best."""
    parts: list[Part] = [written_out(file) for file in files]
    if piped:
        parts.append(quoted("Standard input", piped))
    return user(*parts, words)


def written_out(file: File) -> Part:
    """Turn a text file into text; leave what only some models can read as it is."""
    if file_kind(file.media_type) != "text":
        return file
    return quoted(file.name, file.data.decode("utf-8-sig"))


def quoted(title: str, content: str) -> Text:
    longest = max(map(len, TICKS.findall(content)), default=0)
    fence = "`" * max(FENCE, longest + 1)
    return Text(f"{title}:\n{fence}\n{content.rstrip()}\n{fence}")
