"""What tokens cost and how much a model can read, from the maintained list `genai-prices`.

The list is imported at first use (it is large), and what it does not know is None, never zero.
"""

from functools import cache

from moot.model.chunks import Usage


def cost(base_url: str, model: str, usage: Usage) -> float | None:
    """Price a call in US dollars, by the address it went to."""
    import genai_prices  # noqa: PLC0415 - slow to import, needed once an answer is complete

    try:
        tokens = genai_prices.Usage(
            input_tokens=usage.input,
            output_tokens=usage.output,
            cache_read_tokens=usage.cached,
            cache_write_tokens=usage.cache_written,
        )
        price = genai_prices.calc_price(tokens, model_ref=model, provider_api_url=base_url)
    except (LookupError, ValueError):
        return None
    return float(price.total_price)


@cache
def context_window(base_url: str, model: str) -> int | None:
    from genai_prices.data_snapshot import get_snapshot  # noqa: PLC0415 - as above

    try:
        _, info = get_snapshot().find_provider_model(model, None, None, base_url)
    except LookupError:
        return None
    return info.context_window
