"""Markdown as safe HTML."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from moot.transcript.html import TimeBudget
from moot.transcript.html_markdown import MAX_MARKDOWN_CHARS, FormulaRenderer, MarkdownRenderer
from tests.support.safe_html import parse_safe_html
from tests.support.transcript_samples import HOSTILE_TEXTS

render = MarkdownRenderer(FormulaRenderer(TimeBudget(600.0)), TimeBudget(600.0))  # for all tests of this file


def test_markdown_is_rendered_as_html() -> None:
    markdown = """\
# Title
One *two* **three** ~~four~~ `five`
next line
[web](https://example.org "A title") <https://example.org/a> [post](mailto:a@example.org)

3. three
4. four

> quote

| a | b |
|---|--:|
| 1 | 2 |

```py
x < y
```

---
"""
    assert render(markdown) == snapshot("""\
<h4>Title</h4>
<p>One <em>two</em> <strong>three</strong> <s>four</s> <code>five</code><br />
next line<br />
<a href="https://example.org" title="A title" rel="noopener noreferrer nofollow">web</a> <a href="https://example.org/a" rel="noopener noreferrer nofollow">https://example.org/a</a> <a href="mailto:a@example.org" rel="noopener noreferrer nofollow">post</a></p>
<ol start="3">
<li>three</li>
<li>four</li>
</ol>
<blockquote>
<p>quote</p>
</blockquote>
<table>
<thead>
<tr>
<th>a</th>
<th style="text-align:right">b</th>
</tr>
</thead>
<tbody>
<tr>
<td>1</td>
<td style="text-align:right">2</td>
</tr>
</tbody>
</table>
<pre><code class="language-py">x &lt; y
</code></pre>
<hr />
""")


@pytest.mark.parametrize("poison", HOSTILE_TEXTS)
def test_hostile_markdown_is_harmless(poison: str) -> None:
    parse_safe_html(render(poison))


@given(st.lists(st.one_of(st.sampled_from(HOSTILE_TEXTS), st.text(max_size=12)), max_size=8).map(" ".join))
def test_mixed_hostile_markdown_is_harmless(poison: str) -> None:
    parse_safe_html(render(poison))


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "data:image/png;base64,AA",
        "file:///x",
        "//example.org",
        "/x",
        "x.html",
        "#msg_1",
        "ftp://x",
    ],
)
def test_unsafe_links_are_removed(url: str) -> None:
    assert "href" not in render(f"[a]({url}) ![b]({url})")


def test_image_becomes_link_or_text_inside_link() -> None:
    assert render("![A cat](https://example.org/cat.png)") == (
        '<p><a href="https://example.org/cat.png" rel="noopener noreferrer nofollow">A cat</a></p>\n'
    )
    assert "https://example.org/a.png" in render("![](https://example.org/a.png)").split(">")[2]
    nested = render("[![A cat](https://example.org/a.png)](https://example.org/b)")
    assert nested.count("<a ") == 1
    assert ">A cat</a>" in nested


def test_headings_are_moved_below_page_headings() -> None:
    assert [node.name for node in parse_safe_html(render("# a\n\n## b\n\n#### c")).nodes] == [
        "h4",
        "h5",
        "h6",
    ]


def test_overlong_markdown_is_shown_as_source() -> None:
    assert render("*" * (MAX_MARKDOWN_CHARS + 1)).startswith("<pre>***")
    assert MarkdownRenderer(time_budget=TimeBudget(0.0))("*a* <b>") == "<pre>*a* &lt;b&gt;</pre>"
