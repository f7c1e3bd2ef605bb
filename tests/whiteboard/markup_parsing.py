"""Markup as a tree, to be looked into."""

from xml.etree import ElementTree as ET

Node = ET.Element


def parse_markup(markup: str) -> Node:
    """Read a fragment; its parts are the children of what is returned."""
    return ET.fromstring(f"<g>{markup}</g>".encode())  # noqa: S314 - made by the code under test
