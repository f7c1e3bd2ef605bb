"""HTML read back, so that it can be checked: every element and attribute must be one that Moot itself writes."""

import re
from html.parser import HTMLParser

from msgspec import Struct

VOID_TAGS = {"meta", "br", "hr"}
HTML_TAGS = {
    *("html", "head", "title", "style", "body", "main", "header", "footer", "section", "article", "figure"),
    *(
        "figcaption",
        "div",
        "span",
        "p",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "ul",
        "ol",
        "li",
        "table",
        "thead",
    ),
    *(
        "tbody",
        "tr",
        "th",
        "td",
        "details",
        "summary",
        "pre",
        "code",
        "blockquote",
        "em",
        "strong",
        "s",
        "a",
        "q",
    ),
    *("time", *VOID_TAGS),
}
SVG_TAGS = {"svg", "g", "rect", "line", "polygon", "polyline", "circle", "ellipse", "path", "text"}
GLOBAL_ATTRIBUTES = {"class", "id"}
HTML_ATTRIBUTES = {
    "html": {"lang"},
    "meta": {"charset", "http-equiv", "content", "name"},
    "a": {"href", "rel", "title"},
    "article": {"style"},
    "span": {"style"},
    "ol": {"start"},
    "th": {"scope", "style"},
    "td": {"style"},
    "time": {"datetime"},
}
SVG_ATTRIBUTES = {
    *(
        "xmlns",
        "viewbox",
        "width",
        "height",
        "fill",
        "stroke",
        "stroke-width",
        "role",
        "aria-label",
        "style",
        "d",
    ),
    *(
        "x",
        "y",
        "x1",
        "y1",
        "x2",
        "y2",
        "cx",
        "cy",
        "r",
        "rx",
        "ry",
        "points",
        "transform",
        "color",
        "data-kind",
    ),
    *("font-family", "font-size", "font-weight", "text-anchor", "stroke-linecap", "stroke-linejoin"),
    *("stroke-dasharray", "opacity", "fill-opacity", "stroke-opacity"),
}
ALLOWED_LINK = re.compile(r"(https?://|mailto:)\S+|#msg_\w+")
ALLOWED_STYLE = re.compile(
    r"text-align:(left|right|center)|vertical-align:-?[\d.]+em|--own:(#[0-9a-fA-F]{6}|var\(--soft\))"
)


class HtmlNode(Struct):
    name: str
    attributes: dict[str, str]
    text: str = ""


class ParsedHtml(HTMLParser):
    """Reads a whole file; elements must be closed in the order in which they were opened."""

    def __init__(self, markup: str) -> None:
        super().__init__(convert_charrefs=True)
        self.nodes: list[HtmlNode] = []
        self.unexpected: list[str] = []
        self._open_nodes: list[HtmlNode] = []
        self.feed(markup)
        self.close()
        assert not self._open_nodes, [node.name for node in self._open_nodes]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = HtmlNode(tag, {name: value or "" for name, value in attrs})
        assert len(node.attributes) == len(attrs), f"{tag} has an attribute twice"
        self.nodes.append(node)
        if tag not in VOID_TAGS:
            self._open_nodes.append(node)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID_TAGS:
            assert tag in SVG_TAGS, f"<{tag}/> would not be closed"
            self._open_nodes.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self._open_nodes.pop().name == tag

    def handle_data(self, data: str) -> None:
        for node in self._open_nodes:
            node.text += data

    def handle_comment(self, data: str) -> None:
        self.unexpected.append(data)

    def handle_pi(self, data: str) -> None:
        self.unexpected.append(data)

    def unknown_decl(self, data: str) -> None:
        self.unexpected.append(data)

    def texts(self, name: str, class_name: str | None = None) -> list[str]:
        """Return what stands in the elements of a name, and perhaps a class."""
        found = [node for node in self.nodes if node.name == name]
        return [
            node.text.strip()
            for node in found
            if class_name is None or class_name in node.attributes.get("class", "").split()
        ]


def parse_safe_html(markup: str) -> ParsedHtml:
    """Read markup, and check that there is nothing in it that is not on the lists."""
    read = ParsedHtml(markup)
    assert read.unexpected == []
    for node in read.nodes:
        allowed = SVG_ATTRIBUTES if node.name in SVG_TAGS else HTML_ATTRIBUTES.get(node.name, set())
        assert node.name in HTML_TAGS | SVG_TAGS, node
        assert set(node.attributes) <= allowed | GLOBAL_ATTRIBUTES, node
        assert ALLOWED_LINK.fullmatch(node.attributes.get("href", "#msg_1")), node
        assert ALLOWED_STYLE.fullmatch(node.attributes.get("style", "text-align:left")), node
        assert "url(" not in str(
            {k: v for k, v in node.attributes.items() if k not in {"aria-label", "class", "title", "href", "id"}}
        ), node
    assert all("@import" not in text and "url(" not in text for text in read.texts("style"))
    return read
