"""Full-text search of discussions, with an excerpt of each match."""

import re
import unicodedata
from functools import cache

from msgspec import Struct
from sqlalchemy import (
    ColumnElement,
    Subquery,
    Table,
    TableClause,
    bindparam,
    column,
    false,
    func,
    literal_column,
    select,
    table,
    true,
)
from sqlalchemy.sql.functions import Function

from moot.store.database import Database

MAX_WORDS = 16  # per query; the rest is ignored
MAX_WORD_CHARS = 60  # a longer word is searched by its prefix

# Must equal the expressions of the indexes in the migrations, or Postgres does not use these indexes.
DOCUMENT_SQL = {
    "discussion": "to_tsvector('simple', discussion.title)",
    "message": "to_tsvector('simple', left(message.content, 100000))",
    "insight": "to_tsvector('simple', insight.title || ' ' || insight.detail || ' ' || coalesce(insight.suggestion, ''))",
}


def search_words(q: str) -> list[str]:
    """Split a query into words. Punctuation alone is not a word."""
    valid_text = q.replace("\0", " ").encode("utf-8", "ignore").decode()
    return [word[:MAX_WORD_CHARS] for word in valid_text.split() if any(map(str.isalnum, word[:MAX_WORD_CHARS]))][
        :MAX_WORDS
    ]


def search_condition(database: Database, target: Table, q: str) -> ColumnElement[bool]:
    """Return an SQL condition for rows that contain all words of the query.

    A blank query matches all rows; a query of punctuation only matches none.
    """
    if not q.replace("\0", " ").strip():
        return true()
    if not search_words(q):
        return false()
    if database.is_postgres:
        return _tsvector(target).bool_op("@@")(_tsquery(q))
    index = _fts_table(target.name)
    return target.c.seq.in_(select(index.c.rowid).where(_fts_condition(index, q)))


def rank_matches(database: Database, target: Table, q: str) -> Subquery:
    """Return a subquery with `seq` and `score` of matching rows; a higher score is better.

    The query must contain a word.
    """
    if database.is_postgres:
        rank = func.ts_rank(_tsvector(target), _tsquery(q)).label("score")
        return select(target.c.seq, rank).where(search_condition(database, target, q)).subquery()
    index = _fts_table(target.name)
    score = (-func.bm25(literal_column(index.name))).label("score")
    return select(index.c.rowid.label("seq"), score).where(_fts_condition(index, q)).subquery()


def _tsvector(target: Table) -> ColumnElement[str]:
    return literal_column(DOCUMENT_SQL[target.name])


def _tsquery(q: str) -> Function[str]:
    doubled = str.maketrans({"'": "''", "\\": "\\\\"})
    wanted = " & ".join(f"'{word.translate(doubled)}':*" for word in search_words(q))
    return func.to_tsquery(literal_column("'simple'"), bindparam(None, wanted))


@cache
def _fts_table(table_name: str) -> TableClause:
    name = f"{table_name}_search"
    return table(name, column("rowid"), column(name))


def _fts_condition(fts_table: TableClause, q: str) -> ColumnElement[bool]:
    wanted = " ".join('"{}"*'.format(word.replace('"', '""')) for word in search_words(q))
    return fts_table.c[fts_table.name].match(bindparam(None, wanted))


WORD_PATTERN = re.compile(r"[^\W_]+")
CHARS_BEFORE, CHARS_AFTER = 32, 120  # characters around a match, about


class Excerpt(Struct, frozen=True):
    """A match, with the text before and after it as one line."""

    before: str
    match: str
    after: str


def make_excerpt(text: str, q: str) -> Excerpt:
    """Return the first word that starts with the longest word of the query, which is the most specific one.

    Without a match, `match` is empty and `after` is the start of the text.
    """
    sought = max(
        (_fold_word(word) for part in search_words(q) for word in WORD_PATTERN.findall(part)), key=len, default=""
    )
    places = (one.span() for one in WORD_PATTERN.finditer(text) if sought and _fold_word(one[0]).startswith(sought))
    start, end = next(places, (0, 0))
    end = min(end, start + MAX_WORD_CHARS)
    return Excerpt(_shorten_before(text[:start]), text[start:end], _shorten_after(text[end:]))


def _fold_word(word: str) -> str:
    if word.isascii():
        return word.lower()
    return "".join(one for one in unicodedata.normalize("NFKD", word) if not unicodedata.combining(one)).lower()


def _shorten_before(text: str) -> str:
    line = " ".join(text[-4 * CHARS_BEFORE :].split()) + text[-1:].isspace() * " "
    if len(line) <= CHARS_BEFORE and len(text) <= 4 * CHARS_BEFORE:
        return line.lstrip()
    near = line[-CHARS_BEFORE:]
    return "… " + (near.partition(" ")[2] or near)


def _shorten_after(text: str) -> str:
    line = text[:1].isspace() * " " + " ".join(text[: 4 * CHARS_AFTER].split())
    if len(line) <= CHARS_AFTER and len(text) <= 4 * CHARS_AFTER:
        return line.rstrip()
    near = line[:CHARS_AFTER]
    return (near.rpartition(" ")[0] or near) + " …"
