"""Parses markup into a tree."""

from xml.etree import ElementTree as ET

Node = ET.Element


def parse_markup(markup: str) -> Node:
    """Parse a fragment. Its elements are the children of the returned element."""
    return ET.fromstring(f"<g>{markup}</g>".encode())  # noqa: S314 - made by the code under test
