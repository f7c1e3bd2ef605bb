import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Table, select, text

from moot.store.database import Database
from moot.store.discussions.search import (
    CHARS_AFTER,
    CHARS_BEFORE,
    MAX_WORD_CHARS,
    MAX_WORDS,
    Excerpt,
    make_excerpt,
    rank_matches,
    search_condition,
    search_words,
)
from moot.store.schema.discussions import discussion, message
from tests.support.accounts import create_accounts, create_discussion

FILLER_TEXT = "so it was and so it is " * 50


def test_make_excerpt_starts_at_word_matching_longest_search_word() -> None:
    assert make_excerpt("A round table has no head.", "tab a") == Excerpt("A round ", "table", " has no head.")
    assert make_excerpt("Armchairs, and\n\nchairs.", "CHAIR") == Excerpt("Armchairs, and ", "chairs", ".")


def test_make_excerpt_ignores_accents_and_punctuation() -> None:
    assert make_excerpt("Un CAFÉ, vite", "cafe").match == "CAFÉ"
    assert make_excerpt("un cafe, vite", "café!").match == "cafe"
    assert make_excerpt("Written in C++ here", "c++") == Excerpt("Written in ", "C", "++ here")


def test_make_excerpt_shortens_distant_text_between_words() -> None:
    found = make_excerpt(f"{FILLER_TEXT}an owl {FILLER_TEXT}", "owl")
    assert found == Excerpt(
        "… is so it was and so it is an ",
        "owl",
        " so it was and so it is so it was and so it is so it was and so it is so it was and so it is so it was and so it is so …",
    )


def test_make_excerpt_cuts_between_characters_when_there_are_no_spaces() -> None:
    assert make_excerpt("圆" * 500, "圆") == Excerpt("", "圆" * MAX_WORD_CHARS, "圆" * CHARS_AFTER + " …")


def test_make_excerpt_shows_start_of_text_when_word_is_missing() -> None:
    assert make_excerpt("A round table.", "owl") == Excerpt("", "", "A round table.")
    assert make_excerpt("A round table.", '"') == Excerpt("", "", "A round table.")
    assert make_excerpt("", "owl") == Excerpt("", "", "")


@given(st.text(max_size=600), st.text(max_size=20))
def test_make_excerpt_is_short_and_on_one_line_for_any_input(text: str, q: str) -> None:
    found = make_excerpt(text, q)
    assert found.match in text
    assert len(found.before) <= CHARS_BEFORE + 2
    assert len(found.match) <= MAX_WORD_CHARS
    assert len(found.after) <= CHARS_AFTER + 2
    whole = found.before + found.match + found.after
    assert "\n" not in whole


SEARCHED_COLUMNS = {message.name: message.c.content, discussion.name: discussion.c.title}


async def search_texts(database: Database, q: str, target: Table = message) -> list[str]:
    query = select(SEARCHED_COLUMNS[target.name]).where(search_condition(database, target, q)).order_by(target.c.seq)
    async with database.read() as connection:
        return list((await connection.execute(query)).scalars())


@pytest.fixture
async def database(database: Database) -> Database:
    await create_accounts(database)
    return database


def test_search_words_splits_at_whitespace() -> None:
    assert search_words("  round table\tmoot ") == ["round", "table", "moot"]


def test_search_words_ignores_punctuation() -> None:
    assert search_words("* \" ' : () -- 🎉 c++") == ["c++"]


@given(st.text(st.characters(exclude_categories=[])))
def test_search_words_limits_count_and_length_for_any_input(q: str) -> None:
    assert len(search_words(q)) <= MAX_WORDS
    for word in search_words(q):
        assert 0 < len(word) <= MAX_WORD_CHARS
        assert "\0" not in word.encode().decode()


async def test_every_search_word_matches_a_word_prefix(database: Database) -> None:
    await create_discussion(database, "tenant_anna", "A round table has no head.", "Everyone can see everyone.")
    assert await search_texts(database, "table") == ["A round table has no head."]
    assert await search_texts(database, "TAB rou") == ["A round table has no head."]
    assert await search_texts(database, "every") == ["Everyone can see everyone."]
    assert await search_texts(database, "table everyone") == []
    assert await search_texts(database, "able") == []


async def test_titles_are_searched_separately(database: Database) -> None:
    await create_discussion(database, "tenant_anna", "nothing", title="On tables")
    assert await search_texts(database, "table", discussion) == ["On tables"]
    assert await search_texts(database, "nothing", discussion) == []


async def test_changed_or_deleted_text_is_not_found(database: Database) -> None:
    renamed = await create_discussion(database, title="chairs")
    deleted = await create_discussion(database, title="chairs too")
    async with database.write() as connection:
        await connection.execute(discussion.update().where(discussion.c.id == renamed.id).values(title="stools"))
        await connection.execute(discussion.delete().where(discussion.c.id == deleted.id))
    assert await search_texts(database, "chairs", discussion) == []
    assert await search_texts(database, "stools", discussion) == ["stools"]


async def test_blank_search_matches_everything_and_punctuation_matches_nothing(database: Database) -> None:
    await create_discussion(database, "tenant_anna", "one", "two")
    assert await search_texts(database, " \t") == ["one", "two"]
    assert await search_texts(database, "\0") == ["one", "two"]
    assert await search_texts(database, '"*:') == []


@pytest.mark.parametrize(
    "q",
    [
        "'",
        '"',
        "O'Brien's",
        '"unclosed',
        "a* OR b*",
        "content:x",
        "NEAR(a b)",
        "a AND NOT b",
        "(((",
        "a & !b | c:*",
        "back\\slash \\' \\",
        "a\0b",
        "\ud800lone",
        "'; DROP TABLE message; --",
        "x" * 10_000,
        "word " * 2_000,
        "🎉",
        "-",
        "^a",
        "{a b} : c",
        "http://example.com/path?q=1",
        "someone@example.com",
        "%_",
    ],
)
async def test_search_treats_query_syntax_as_words(database: Database, q: str) -> None:
    await create_discussion(database, "tenant_anna", "one")
    assert await search_texts(database, q) == []


@pytest.mark.parametrize(
    ("written", "q"),
    [
        ("Ask O'Brien.", "O'Brien"),
        ("Über Größe reden wir später", "Größ"),
        ("обсуждение за столом", "обсужд"),
        ("see example.com for more", "example.com"),
        ("mail someone@example.com", "someone@example.com"),
        ("the well-known case", "well-known"),
        ("snake_case_names", "snake_case"),
        ("a C++ program", "C++"),
        ('he said "moot" twice', '"moot"'),
        (f"id {'a1' * 100}", "a1" * 90),
    ],
)
async def test_words_with_punctuation_are_found(database: Database, written: str, q: str) -> None:
    await create_discussion(database, "tenant_anna", written, "something else")
    assert await search_texts(database, q) == [written]


async def test_rank_matches_prefers_frequent_words(database: Database) -> None:
    long = "chairs and stools and benches and sofas and more besides"
    await create_discussion(database, "tenant_anna", f"A table, {long}.", "Table, table, table.", "nothing")
    found = rank_matches(database, message, "table")
    query = select(message.c.content).join(found, found.c.seq == message.c.seq)
    async with database.read() as connection:
        assert (await connection.execute(query.order_by(found.c.score.desc()))).scalars().all() == [
            "Table, table, table.",
            f"A table, {long}.",
        ]


@pytest.mark.parametrize("name", ["discussion", "message", "insight"])
async def test_postgres_search_uses_its_index(database: Database, name: str) -> None:
    if not database.is_postgres:
        pytest.skip("a virtual table of SQLite is its index")
    searched = discussion.metadata.tables[name]
    query = select(searched.c.id).where(search_condition(database, searched, "table"))
    async with database.read() as connection:
        await connection.execute(text("SET LOCAL enable_seqscan = off"))
        written = query.compile(connection.engine.sync_engine, compile_kwargs={"literal_binds": True})
        plan = await connection.execute(text(f"EXPLAIN {written}".replace(":", r"\:")))
        assert f"ix_{name}_search" in "\n".join(plan.scalars())
