"""What can be done on the whiteboard, each a value with the bounds that drawing it needs.

Nothing in these values can be more than a number, a plain colour or text; so a picture made of them holds nothing else.
"""

from typing import Annotated, Literal

from msgspec import Meta, Struct

COLOURS = (
    "black|white|gray|grey|silver|red|maroon|orange|gold|yellow|olive|lime|green|teal|cyan|blue|navy|"
    "purple|violet|magenta|pink|brown|transparent"
)
COLOUR = rf"^(?:#[0-9a-fA-F]{{3}}|#[0-9a-fA-F]{{6}}|{COLOURS})(?!\n)$"
WRITABLE = r"^[^\x00\ud800-\udfff]*$"  # what can be stored and encoded
ID = r"^\w[\w.:-]*(?!\n)$"
ID_LENGTH = 40
MOST_LINES = 200

ElementId = Annotated[str, Meta(max_length=ID_LENGTH, pattern=ID)]
LineId = Annotated[str, Meta(pattern=r"^L[1-9][0-9]{0,5}(?!\n)$")]
Coordinate = Annotated[float, Meta(ge=-2000, le=3000)]
Size = Annotated[float, Meta(ge=1, le=2000)]
Colour = Annotated[str, Meta(pattern=COLOUR)]
Words = Annotated[str, Meta(min_length=1, max_length=4000, pattern=WRITABLE)]
Formula = Annotated[str, Meta(min_length=1, max_length=1000, pattern=WRITABLE)]
Label = Annotated[str, Meta(max_length=120, pattern=WRITABLE)]
Cell = Annotated[str, Meta(max_length=300, pattern=WRITABLE)]
Amount = Annotated[float, Meta(ge=-1e12, le=1e12)]
Head = Literal["", "arrow", "dot"]

INK = "#2f3437"


class Move(Struct, frozen=True, kw_only=True, rename="camel", tag_field="name"):
    """Anything an agent can do beside speaking; `name` tells which."""


class Open(Move, frozen=True, kw_only=True, tag="wb_open"):
    """Show the whiteboard."""


class Close(Move, frozen=True, kw_only=True, tag="wb_close"):
    """Hide the whiteboard; what is on it stays."""


class Clear(Move, frozen=True, kw_only=True, tag="wb_clear"):
    """Wipe the whiteboard."""


class Delete(Move, frozen=True, kw_only=True, tag="wb_delete"):
    """Take one element off the whiteboard."""

    element_id: ElementId


class Draw(Move, frozen=True, kw_only=True):
    """Put an element on the whiteboard, under an id of its own."""

    element_id: ElementId | None = None


class DrawText(Draw, frozen=True, kw_only=True, tag="wb_draw_text"):
    """Write plain text; it wraps at its width."""

    content: Words
    x: Coordinate
    y: Coordinate
    width: Size = 400
    height: Size = 100
    font_size: Annotated[float, Meta(ge=8, le=120)] = 18
    color: Colour = INK


class DrawShape(Draw, frozen=True, kw_only=True, tag="wb_draw_shape"):
    """Draw a filled shape."""

    shape: Literal["rectangle", "circle", "triangle"]
    x: Coordinate
    y: Coordinate
    width: Size = 200
    height: Size = 100
    fill_color: Colour = "#5b8def"


class ChartData(Struct, frozen=True, kw_only=True):
    """A number for each label in each series, and a legend for each series; in a scatter the first series is x."""

    labels: Annotated[tuple[Label, ...], Meta(max_length=50)] = ()
    legends: Annotated[tuple[Label, ...], Meta(max_length=10)] = ()
    series: Annotated[
        tuple[Annotated[tuple[Amount, ...], Meta(max_length=50)], ...], Meta(min_length=1, max_length=10)
    ]


class DrawChart(Draw, frozen=True, kw_only=True, tag="wb_draw_chart"):
    """Draw a chart of numbers, one for each label in each series; bars lie, columns stand, a scatter begins with its x."""

    chart_type: Literal["bar", "column", "line", "pie", "ring", "area", "radar", "scatter"]
    x: Coordinate
    y: Coordinate
    width: Size = 400
    height: Size = 280
    data: ChartData
    theme_colors: Annotated[tuple[Colour, ...], Meta(max_length=10)] = ()


class DrawLatex(Draw, frozen=True, kw_only=True, tag="wb_draw_latex"):
    """Write a formula in LaTeX, without dollar signs; it is fitted into its box."""

    latex: Formula
    x: Coordinate
    y: Coordinate
    width: Size = 400
    height: Size = 80
    color: Colour = INK


class DrawTable(Draw, frozen=True, kw_only=True, tag="wb_draw_table"):
    """Draw a table; the first row is its head."""

    x: Coordinate
    y: Coordinate
    width: Size = 400
    height: Size = 160
    data: Annotated[
        tuple[Annotated[tuple[Cell, ...], Meta(min_length=1, max_length=12)], ...],
        Meta(min_length=1, max_length=30),
    ]
    theme_color: Colour = "#5b8def"


class DrawLine(Draw, frozen=True, kw_only=True, tag="wb_draw_line"):
    """Draw a straight line; points are the heads at its start and its end."""

    start_x: Coordinate
    start_y: Coordinate
    end_x: Coordinate
    end_y: Coordinate
    color: Colour = INK
    width: Annotated[float, Meta(ge=0.5, le=40)] = 2
    style: Literal["solid", "dashed"] = "solid"
    points: tuple[Head, Head] = ("", "")


class DrawCode(Draw, frozen=True, kw_only=True, tag="wb_draw_code"):
    """Show code; its lines are called L1, L2 and so on, and keep their names when others come or go."""

    language: Annotated[str, Meta(max_length=40, pattern=WRITABLE)] = ""
    code: Words
    x: Coordinate
    y: Coordinate
    width: Size = 480
    height: Size = 280
    file_name: Label = ""

    def __post_init__(self) -> None:
        if len(lines_of(self.code)) > MOST_LINES:
            raise ValueError(f"code has more than {MOST_LINES} lines; show the part that matters")


def lines_of(code: str) -> list[str]:
    """Part code into lines; a break at its end begins no further one."""
    return code.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n")


class EditCode(Move, frozen=True, kw_only=True, tag="wb_edit_code"):
    """Change lines of code by their names: insert at lineId, or delete or replace lineIds."""

    element_id: ElementId
    operation: Literal["insert_after", "insert_before", "delete_lines", "replace_lines"]
    line_id: LineId | None = None
    line_ids: Annotated[tuple[LineId, ...], Meta(max_length=MOST_LINES)] = ()
    content: Annotated[str, Meta(max_length=4000, pattern=WRITABLE)] = ""

    def __post_init__(self) -> None:
        if not self.targets:
            wanted = "lineId" if self.operation.startswith("insert") else "lineIds"
            raise ValueError(f"{self.operation} needs {wanted}")

    @property
    def targets(self) -> tuple[str, ...]:
        """The lines that are meant, under whichever of the two names they were given."""
        return self.line_ids or ((self.line_id,) if self.line_id else ())


Drawing = DrawText | DrawShape | DrawChart | DrawLatex | DrawTable | DrawLine | DrawCode
