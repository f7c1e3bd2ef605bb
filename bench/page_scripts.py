"""Scripts for the models of the page benchmark: all types of Markdown, enough text to stream for half a minute."""

import json

CHUNK, INTERVAL = 8, 0.01  # characters per chunk, and seconds between two chunks
CHUNKS = 3500
MARKDOWN = """\
## What model {number} thinks

A table has **no head** when it is round, and whoever *sits down* at it can see `everyone else`. Three reasons:

1. Nobody has to turn round, which [the carpenters](https://example.org/tables) knew.
2. It seats one more
   - than a square one of the same edge,
   - and two more than a bench.
3. It has no corners to bump into.

```python
def seats(radius: float, elbow: float = 0.6) -> int:
    \"\"\"Count who fits round a table.\"\"\"
    return int(2 * 3.14159 * radius / elbow)
```

| shape | seats | head |
| --- | ---: | --- |
| round | 8 | none |
| square | 8 | four |
| long | 12 | two |

> "Whoever speaks, speaks to all of them at once", as one of them said.

The area is $A = \\pi r^2$, so a table of one metre has $3.14$ square metres, and

$$\\int_0^{2\\pi} r \\, d\\varphi = 2 \\pi r.$$

"""

MODELS = [f"scripted/model{number}" for number in range(1, 7)]


def _build_answer(number: int) -> str:
    markdown = MARKDOWN.replace("{number}", str(number))
    return markdown * (CHUNKS * CHUNK // len(markdown) + 1)


SCRIPTS = (
    "\n".join(
        f"[model{number}]\nanswer = {json.dumps(_build_answer(number))}\nchunk_chars = {CHUNK}\nchunk_interval_seconds = {INTERVAL}\n"
        for number in range(1, 7)
    )
    + '\n[short]\nanswer = "Everyone who sits down at a round table can see everyone else."\nchunk_chars = 100\n'
)
