"""HTML as text: names and attributes are written here, and whatever comes from elsewhere is escaped."""

from html import escape

from moot.board.markup import printable


def element(name: str, *content: str, **attributes: str | None) -> str:
    """Write an element; content is markup already, attributes are not. None leaves an attribute out."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{words(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{written}>{''.join(content)}</{name}>"


def words(text: str) -> str:
    """Make text of any origin safe to stand between tags, or in an attribute."""
    return escape(printable(text))


def listed(items: list[str], name: str = "ul", **attributes: str | None) -> str:
    return element(name, *(element("li", item) for item in items), **attributes)
