"""What is known about models, as a table: the first row that matches `provider/model` wins."""

from fnmatch import fnmatchcase

from moot.model.profiles import FileKind, Profile

TEXT: frozenset[FileKind] = frozenset({"text"})
SEES: frozenset[FileKind] = frozenset({"text", "image"})
READS: frozenset[FileKind] = frozenset({"text", "image", "pdf"})

TABLE: tuple[tuple[str, Profile], ...] = (
    ("local/*", Profile(files=TEXT, tools=False)),
    ("scripted/*", Profile(files=READS, thinking="effort")),
    ("anthropic/claude-[0-2]*", Profile(files=TEXT, json_schema=False, default_max_tokens=4096)),
    ("anthropic/claude-3-7*", Profile(files=READS, thinking="budget", json_schema=False)),
    ("anthropic/claude-3*", Profile(files=READS, json_schema=False, default_max_tokens=4096)),
    ("anthropic/claude-*-4-[01]*", Profile(files=READS, thinking="budget", json_schema=False)),
    ("anthropic/claude-*-4-20*", Profile(files=READS, thinking="budget", json_schema=False)),
    ("anthropic/claude-*-4-5*", Profile(files=READS, thinking="budget", default_max_tokens=16384)),
    ("anthropic/*", Profile(files=READS, thinking="effort", default_max_tokens=16384)),
    ("google/gemini-2.5*", Profile(files=READS, thinking="budget")),
    ("google/gemini-[12].*", Profile(files=READS)),
    ("google/gemini-*", Profile(files=READS, thinking="effort")),
    ("google/gemma-*", Profile(files=SEES, tools=False, json_schema=False)),
    ("openai/gpt-4*", Profile(files=READS, max_tokens_field="max_completion_tokens")),
    ("openai/gpt-3*", Profile(files=TEXT, json_schema=False)),
    ("openai/*", Profile(files=READS, thinking="effort", max_tokens_field="max_completion_tokens")),
    ("openrouter/*", Profile(files=READS, thinking="effort")),
    ("deepseek/*", Profile(files=TEXT, json_schema=False)),
    ("*", Profile(files=SEES, thinking="effort")),
)


def profile(provider: str, model: str) -> Profile:
    name = f"{provider}/{model}"
    return next(row for pattern, row in TABLE if fnmatchcase(name, pattern))
