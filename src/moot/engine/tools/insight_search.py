"""Finding insights: by their words, and where there is an embedding model, by what they mean as well."""

import asyncio
import logging
import math
from array import array
from collections.abc import Mapping
from operator import mul

from moot.providers.embeddings import Embedder
from moot.store.library.insights import Insights, Vectors
from moot.types.errors import ProviderError
from moot.types.knowledge import Insight

MEANING, WORDS = 0.7, 0.3  # what each counts
A_TIME = 64  # insights that get their vectors with one search


class InsightSearch:
    def __init__(self, insights: Insights, vectors: Vectors, embedder: Embedder | None = None) -> None:
        self._insights = insights
        self._vectors = vectors
        self._embedder = embedder

    async def find(self, tenant: str, project: str | None, q: str, limit: int) -> tuple[Insight, ...]:
        """Find insights of a project; where it is None, those of all of them, by their words alone."""
        by_words = await self._insights.by_words(tenant, project, q)
        by_meaning = await self._by_meaning(tenant, project, q) if project is not None else {}
        return await self._insights.by_ids(tenant, blended(by_words, by_meaning)[:limit])

    async def _by_meaning(self, tenant: str, project: str, q: str) -> dict[str, float]:
        if self._embedder is None:
            return {}
        try:
            wanted = await self._embed(self._embedder, tenant, project, q)
        except ProviderError as error:  # words alone are better than nothing
            logging.getLogger(__name__).warning("insights are found by their words alone: %s", error)
            return {}
        stored = await self._vectors.of_project(tenant, project, self._embedder.name)
        return await asyncio.to_thread(similarities, wanted, stored)

    async def _embed(self, embedder: Embedder, tenant: str, project: str, q: str) -> bytes:
        """Make the vector of what is looked for and, in the same call, of insights that have none yet."""
        missing = await self._vectors.missing(tenant, project, embedder.name, A_TIME)
        wanted, *made = await embedder.embed([q, *map(_words, missing)])
        if missing:
            new = {one.id: packed(vector) for one, vector in zip(missing, made, strict=True)}
            await self._vectors.add(embedder.name, new)
        return packed(wanted)


def blended(by_words: Mapping[str, float], by_meaning: Mapping[str, float]) -> list[str]:
    """Order what was found: 70 % for meaning (0 to 1), 30 % for words (against the best that was found)."""
    best = max(by_words.values(), default=0.0) or 1.0
    scores = {found: MEANING * score for found, score in by_meaning.items()}
    for found, score in by_words.items():
        scores[found] = scores.get(found, 0.0) + WORDS * score / best
    return sorted(scores, key=lambda found: (scores[found], found), reverse=True)


def similarities(wanted: bytes, stored: Mapping[str, bytes]) -> dict[str, float]:
    """Compare vectors by their angle, from 0 to 1; those of another size are no match."""
    one = array("f", wanted)
    return {
        name: max(0.0, sum(map(mul, one, array("f", vector))))
        for name, vector in stored.items()
        if len(vector) == len(wanted)
    }


def packed(vector: list[float]) -> bytes:
    """Make a vector of length 1, in as few bytes as will do."""
    length = math.sqrt(sum(map(mul, vector, vector))) or 1.0
    return array("f", [value / length for value in vector]).tobytes()


def _words(insight: Insight) -> str:
    return "\n".join([insight.title, insight.detail, insight.suggestion or ""]).strip()
