"""A transcript as Markdown."""

from inline_snapshot import snapshot
from msgspec.structs import replace

from moot.transcript.markdown_format import MarkdownFormat
from moot.whiteboard.state import EMPTY_BOARD, replay_actions
from tests.support.transcript_samples import (
    DISCUSSION,
    FILES,
    LESSON_REPORT,
    MESSAGES,
    REPORT,
    participant_message,
    single_version_turns,
    user_message,
)
from tests.support.whiteboard_lesson import LESSON_ACTIONS as DRAWN


def test_markdown_format_of_debate() -> None:
    form = MarkdownFormat()
    markdown = (
        form.render_start(DISCUSSION)
        + form.render_turns(single_version_turns(MESSAGES), FILES)
        + form.render_report(REPORT)
        + form.render_end(EMPTY_BOARD)
    )
    assert markdown == snapshot("""\
# Shall we split it?

Debate, 2026-11-15 12:00 UTC

- Alpha: a/one
- Beta: b/two
- Gamma: c/three

## Person

Shall we split it?

With notes.txt

*2026-11-15 12:00 UTC*

## Alpha · First answers · a/one

> **Thinking**
>
> The teams wait.

**Split** it now.

*2026-11-15 12:01 UTC, 1,200 tokens in, 34 out, $0.0123, 1.5 s*

## Beta · First answers · b/two

**Key rejected for b (HTTP 401).**

*2026-11-15 12:01 UTC, 1.5 s*

## Gamma · First answers · c/three

Wait a quar

> **Details**
>
> Figures: none.

**Cut off here.**

*2026-11-15 12:01 UTC, 1,200 tokens in, 34 out, $0.0123, 1.5 s*

## Alpha · Debate · a/one

I keep my position.

*2026-11-15 12:01 UTC, 1,200 tokens in, 34 out, $0.0123, 1.5 s*

## Gamma · Debate · c/three

I change my position.

*2026-11-15 12:01 UTC, 1,200 tokens in, 34 out, $0.0123, 1.5 s*

## Alpha · Synthesis · a/one

Split it, in steps.

*2026-11-15 12:01 UTC, 1,200 tokens in, 34 out, $0.0123, 1.5 s*

## Report

Two want to split, one does not.

### Agreed

- The cost has to be measured.
- It is slow.

### Disputed

- Beta would not split before.

Gamma was won over.

|  | At first | In the end | Position |
| --- | --- | --- | --- |
| Alpha | Split. | Split, and measure. | kept |
| Beta |  |  | no answer |
| Gamma | Wait. | Split. | changed |

### Without an answer

- Beta: Key rejected for b (HTTP 401).

### Ranking

- Rank 1: Gamma, 2 points in 2 votes
- Rank 2: Alpha, 0.5 points in 1 vote
- Rank 2: Beta, 1 point in 2 votes

Ranked by blind votes of the other participants.

### Position changes

- Gamma went from “Wait.” to “Split.” after an argument of Alpha: “I change my position.”
- Beta went from “Keep” to “Wait”: “Wait!”

### Claims

- Claim 1: The teams block each other.
  - for: Alpha: “they block each other”
  - for: Gamma: “every single week”
- Claim 2: The cost is not known. (minority)
  - for: Beta: “nobody has measured it”
  - against: Alpha: “we measured it twice”

Left out: 2 quotes that are in no answer

*In all: 5,000 tokens in, 600 out, $0.25*

---

""")


def test_markdown_format_of_lesson() -> None:
    form = MarkdownFormat()
    turn = participant_message(0, "Look.", "turn", lesson_items='[{"type":"action","name":"wb_open","params":{}}]')
    markdown = form.render_start(DISCUSSION) + form.render_turns(
        single_version_turns([user_message(visible_to=("beta",)), turn]), {}
    )
    assert markdown + form.render_report(LESSON_REPORT) + form.render_end(replay_actions(DRAWN)) == snapshot("""\
# Shall we split it?

Debate, 2026-11-15 12:00 UTC

- Alpha: a/one
- Beta: b/two
- Gamma: c/three

## Person · only for Beta

Shall we split it?

*2026-11-15 12:00 UTC*

## Alpha · a/one

Look.

On the board: open

*2026-11-15 12:01 UTC, 1,200 tokens in, 34 out, $0.0123, 1.5 s*

The first answers agree. All say yes.

### How the director decided

- Alpha speaks next. It begins.
- The user speaks next. A question was asked.
- The lesson is over. All is said.

*Stopped. In all: 5,000 tokens in, 600 out, $0.25, and 2 calls whose price is not known*

---

On the whiteboard at the end: text-1, chart-1, chart-2, latex-1, table-1, code-1, sun, line-1.

""")


def test_names_and_titles_are_escaped() -> None:
    form = MarkdownFormat()
    title = "A\n# <script> [x](y) `z` | *w*"
    assert form.render_start(replace(DISCUSSION, title=title)).splitlines()[0] == (
        r"# A \# \<script> \[x\](y) \`z\` \| \*w\*"
    )


def test_results_are_escaped_at_line_start() -> None:
    assert REPORT.summary is not None
    for words, line in (
        ("1. One", r"1\. One"),
        ("> Two", r"\> Two"),
        ("- Three", r"\- Three"),
        ("4 four", "4 four"),
    ):
        markdown = MarkdownFormat().render_report(replace(REPORT, summary=replace(REPORT.summary, overview=words)))
        assert markdown.splitlines()[2] == line


def test_reasoning_stays_inside_block_quote() -> None:
    markdown = MarkdownFormat().render_turns(
        single_version_turns([participant_message(0, "So.", thoughts="One\n\n## Beta\nTwo")]), {}
    )
    assert "> One\n>\n> ## Beta\n> Two\n\nSo." in markdown
