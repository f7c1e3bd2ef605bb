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

WORDS = 16  # of a search; what comes after them is left out
LONGEST = 60  # characters of a word; a longer one is searched by how it begins

# The same expressions as in the indexes, or Postgres does not use them.
DOCUMENTS = {
    "discussion": "to_tsvector('simple', discussion.title)",
    "message": "to_tsvector('simple', left(message.content, 100000))",
    "insight": "to_tsvector('simple', insight.title || ' ' || insight.detail || ' ' || coalesce(insight.suggestion, ''))",
}


def words(q: str) -> list[str]:
    """Split what was typed into the words to look for; marks alone are no words."""
    sayable = q.replace("\0", " ").encode("utf-8", "ignore").decode()
    return [word[:LONGEST] for word in sayable.split() if any(map(str.isalnum, word[:LONGEST]))][:WORDS]


def matching(database: Database, searched: Table, q: str) -> ColumnElement[bool]:
    """Tell rows of a discussion, message or insight that have all the words; a blank search finds all rows."""
    if not q.replace("\0", " ").strip():
        return true()
    if not words(q):
        return false()
    if database.is_postgres:
        return _document(searched).bool_op("@@")(_tsquery(q))
    index = _index(searched.name)
    return searched.c.number.in_(select(index.c.rowid).where(_matches(index, q)))


def ranked(database: Database, searched: Table, q: str) -> Subquery:
    """Give the `number` and the `score` of rows that match; more is better. There must be words."""
    if database.is_postgres:
        rank = func.ts_rank(_document(searched), _tsquery(q)).label("score")
        return select(searched.c.number, rank).where(matching(database, searched, q)).subquery()
    index = _index(searched.name)
    score = (-func.bm25(literal_column(index.name))).label("score")
    return select(index.c.rowid.label("number"), score).where(_matches(index, q)).subquery()


def _document(searched: Table) -> ColumnElement[str]:
    return literal_column(DOCUMENTS[searched.name])


def _tsquery(q: str) -> Function[str]:
    doubled = str.maketrans({"'": "''", "\\": "\\\\"})
    wanted = " & ".join(f"'{word.translate(doubled)}':*" for word in words(q))
    return func.to_tsquery(literal_column("'simple'"), bindparam(None, wanted))


@cache
def _index(searched: str) -> TableClause:
    name = f"{searched}_search"
    return table(name, column("rowid"), column(name))


def _matches(index: TableClause, q: str) -> ColumnElement[bool]:
    wanted = " ".join('"{}"*'.format(word.replace('"', '""')) for word in words(q))
    return index.c[index.name].match(bindparam(None, wanted))


WORD = re.compile(r"[^\W_]+")
BEFORE, AFTER = 32, 120  # characters around what was found, about


class Excerpt(Struct, frozen=True):
    """What was found, with what stands before and after it on one line."""

    before: str
    found: str
    after: str


def excerpt(text: str, q: str) -> Excerpt:
    """Cut out where the longest word that is sought begins a word, as it tells most; otherwise how the text begins."""
    sought = max((_folded(word) for part in words(q) for word in WORD.findall(part)), key=len, default="")
    places = (one.span() for one in WORD.finditer(text) if sought and _folded(one[0]).startswith(sought))
    start, end = next(places, (0, 0))
    end = min(end, start + LONGEST)
    return Excerpt(_end_of(text[:start]), text[start:end], _beginning_of(text[end:]))


def _folded(word: str) -> str:
    if word.isascii():
        return word.lower()
    return "".join(
        one for one in unicodedata.normalize("NFKD", word) if not unicodedata.combining(one)
    ).lower()


def _end_of(text: str) -> str:
    line = " ".join(text[-4 * BEFORE :].split()) + text[-1:].isspace() * " "
    if len(line) <= BEFORE and len(text) <= 4 * BEFORE:
        return line.lstrip()
    near = line[-BEFORE:]
    return "… " + (near.partition(" ")[2] or near)


def _beginning_of(text: str) -> str:
    line = text[:1].isspace() * " " + " ".join(text[: 4 * AFTER].split())
    if len(line) <= AFTER and len(text) <= 4 * AFTER:
        return line.rstrip()
    near = line[:AFTER]
    return (near.rpartition(" ")[0] or near) + " …"
