"""HTML writer of the debate report."""

from collections.abc import Callable, Sequence

from moot.transcript.debate_report import Bullets, Item, Line, Paragraph, Report, Span, Table
from moot.transcript.html import escape_html, html_element, html_list

Chip = Callable[[str], str]  # renders the name of a participant id, in its colour


def render_debate_report(report: Report, chip: Chip) -> str:
    """Render a section. Without results it has only the status and the cost."""
    title = [html_element("h2", report.title)] if report.title else []
    blocks = (_render_block(block, chip) for section in report.sections for block in section)
    return html_element("section", *title, *blocks, class_="report" if report.title else "ending") + "\n"


def _render_block(block: Bullets | Table | Paragraph, chip: Chip) -> str:
    match block:
        case Paragraph():
            return html_element("p", escape_html(block.text), class_=block.kind or None)
        case Table():
            head = (html_element("th", title, scope="col") for title in block.head)
            rows = (html_element("tr", *_table_row(row, chip)) for row in block.rows)
            return html_element("table", html_element("thead", html_element("tr", *head)), html_element("tbody", *rows))
        case Bullets():
            outer, heading = ("details", "summary") if block.folded else ("div", "h3")
            title, items = html_element(heading, block.title), _render_items(block.items, chip)
            return html_element(outer, title, items, class_=_slug(block.title))


def _table_row(row: Line, chip: Chip) -> list[str]:
    name, *cells = (_render_line((cell,), chip) for cell in row)
    return [html_element("th", name, scope="row"), *(html_element("td", cell) for cell in cells)]


def _render_items(items: Sequence[Item], chip: Chip) -> str:
    return html_list([_render_item(item, chip) for item in items])


def _render_item(item: Item, chip: Chip) -> str:
    label = html_element("span", item.label, class_=f"label {_slug(item.label)}") + " " if item.label else ""
    return label + _render_line(item.line, chip) + (_render_items(item.items, chip) if item.items else "")


def _render_line(line: Line, chip: Chip) -> str:
    return "".join(escape_html(one) if isinstance(one, str) else _render_span(one, chip) for one in line)


def _render_span(span: Span, chip: Chip) -> str:
    text = escape_html(span.text)
    match span.kind:
        case "name":
            return chip(span.id)
        case "quote":  # a link to the answer that contains it
            return html_element("q", html_element("a", text, href=f"#{span.id}"))
        case "mark":
            return html_element("span", text, class_=_slug(span.text))


def _slug(text: str) -> str:
    return text.lower().replace(" ", "-")
