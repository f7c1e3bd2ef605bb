"""Insight search by keywords and, with an embedding model, by vector similarity."""

import asyncio
import logging
import math
from array import array
from collections.abc import Mapping
from operator import mul

from moot.providers.embeddings import Embedder
from moot.store.library.insights import Insights, InsightVectors
from moot.types.errors import ProviderError
from moot.types.knowledge import Insight

VECTOR_WEIGHT, KEYWORD_WEIGHT = 0.7, 0.3  # of the combined score
MAX_EMBEDDED_PER_SEARCH = 64  # insights without a vector that one search embeds


class InsightSearch:
    def __init__(self, insights: Insights, vectors: InsightVectors, embedder: Embedder | None = None) -> None:
        self._insights = insights
        self._vectors = vectors
        self._embedder = embedder

    async def search_insights(self, tenant: str, project: str | None, q: str, limit: int) -> tuple[Insight, ...]:
        """Search a project. With `project` None, search all projects by keywords only."""
        by_words = await self._insights.score_by_words(tenant, project, q)
        by_meaning = await self._vector_scores(tenant, project, q) if project is not None else {}
        return await self._insights.insights_by_ids(tenant, rank_by_score(by_words, by_meaning)[:limit])

    async def _vector_scores(self, tenant: str, project: str, q: str) -> dict[str, float]:
        if self._embedder is None:
            return {}
        try:
            query = await self._embed_query(self._embedder, tenant, project, q)
        except ProviderError as error:
            logging.getLogger(__name__).warning(
                "embedding failed; searching insights by keywords only", extra={"reason": str(error)}
            )
            return {}
        stored = await self._vectors.project_vectors(tenant, project, self._embedder.name)
        return await asyncio.to_thread(cosine_similarities, query, stored)

    async def _embed_query(self, embedder: Embedder, tenant: str, project: str, q: str) -> bytes:
        """Embed the query and, in the same request, insights that have no vector yet."""
        missing = await self._vectors.insights_without_vectors(tenant, project, embedder.name, MAX_EMBEDDED_PER_SEARCH)
        query, *vectors = await embedder.embed([q, *map(_insight_text, missing)])
        if missing:
            new = {one.id: pack_vector(vector) for one, vector in zip(missing, vectors, strict=True)}
            await self._vectors.add_vectors(embedder.name, new)
        return pack_vector(query)


def rank_by_score(by_words: Mapping[str, float], by_meaning: Mapping[str, float]) -> list[str]:
    """Return ids, best first. Vector scores are 0 to 1; keyword scores are relative to the best one."""
    best = max(by_words.values(), default=0.0) or 1.0
    scores = {found: VECTOR_WEIGHT * score for found, score in by_meaning.items()}
    for found, score in by_words.items():
        scores[found] = scores.get(found, 0.0) + KEYWORD_WEIGHT * score / best
    return sorted(scores, key=lambda found: (scores[found], found), reverse=True)


def cosine_similarities(query: bytes, stored: Mapping[str, bytes]) -> dict[str, float]:
    """Return similarities from 0 to 1. Vectors of another dimension are left out."""
    query_vector = array("f", query)
    return {
        name: max(0.0, sum(map(mul, query_vector, array("f", vector))))
        for name, vector in stored.items()
        if len(vector) == len(query)
    }


def pack_vector(vector: list[float]) -> bytes:
    """Normalize to length 1 and encode as 32-bit floats."""
    length = math.sqrt(sum(map(mul, vector, vector))) or 1.0
    return array("f", [value / length for value in vector]).tobytes()


def _insight_text(insight: Insight) -> str:
    return "\n".join([insight.title, insight.detail, insight.suggestion or ""]).strip()
