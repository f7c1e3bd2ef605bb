"""HTML read back, so that it can be checked: every element and attribute must be one that Moot itself writes."""

import re
from html.parser import HTMLParser

from msgspec import Struct

VOID = {"meta", "br", "hr"}
TEXT = {
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
    *("time", *VOID),
}
DRAWN = {"svg", "g", "rect", "line", "polygon", "polyline", "circle", "ellipse", "path", "text"}
EVERYWHERE = {"class", "id"}
ATTRIBUTES = {
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
GEOMETRY = {
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
LINK = re.compile(r"(https?://|mailto:)\S+|#msg_\w+")
STYLE = re.compile(
    r"text-align:(left|right|center)|vertical-align:-?[\d.]+em|--own:(#[0-9a-fA-F]{6}|var\(--soft\))"
)


class Node(Struct):
    name: str
    attributes: dict[str, str]
    text: str = ""


class Reading(HTMLParser):
    """Reads a whole file; elements must be closed in the order in which they were opened."""

    def __init__(self, markup: str) -> None:
        super().__init__(convert_charrefs=True)
        self.nodes: list[Node] = []
        self.odd: list[str] = []
        self._open: list[Node] = []
        self.feed(markup)
        self.close()
        assert not self._open, [node.name for node in self._open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = Node(tag, {name: value or "" for name, value in attrs})
        assert len(node.attributes) == len(attrs), f"{tag} has an attribute twice"
        self.nodes.append(node)
        if tag not in VOID:
            self._open.append(node)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            assert tag in DRAWN, f"<{tag}/> would not be closed"
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop().name == tag

    def handle_data(self, data: str) -> None:
        for node in self._open:
            node.text += data

    def handle_comment(self, data: str) -> None:
        self.odd.append(data)

    def handle_pi(self, data: str) -> None:
        self.odd.append(data)

    def unknown_decl(self, data: str) -> None:
        self.odd.append(data)

    def texts(self, name: str, kind: str | None = None) -> list[str]:
        """Return what stands in the elements of a name, and perhaps a class."""
        found = [node for node in self.nodes if node.name == name]
        return [
            node.text.strip()
            for node in found
            if kind is None or kind in node.attributes.get("class", "").split()
        ]


def harmless(markup: str) -> Reading:
    """Read markup, and check that there is nothing in it that is not on the lists."""
    read = Reading(markup)
    assert read.odd == []
    for node in read.nodes:
        allowed = GEOMETRY if node.name in DRAWN else ATTRIBUTES.get(node.name, set())
        assert node.name in TEXT | DRAWN, node
        assert set(node.attributes) <= allowed | EVERYWHERE, node
        assert LINK.fullmatch(node.attributes.get("href", "#msg_1")), node
        assert STYLE.fullmatch(node.attributes.get("style", "text-align:left")), node
        assert "url(" not in str(
            {
                k: v
                for k, v in node.attributes.items()
                if k not in {"aria-label", "class", "title", "href", "id"}
            }
        ), node
    assert all("@import" not in text and "url(" not in text for text in read.texts("style"))
    return read
