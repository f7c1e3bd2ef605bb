"""Whiteboard action types with validated fields.

Models read the class docstrings, see `action_docs`. Fields hold only numbers, colours and strings, so that
rendered SVG cannot contain injected markup.
"""

from typing import Annotated, Literal

from msgspec import Meta, Struct

COLOUR_NAMES = (
    "black|white|gray|grey|silver|red|maroon|orange|gold|yellow|olive|lime|green|teal|cyan|blue|navy|"
    "purple|violet|magenta|pink|brown|transparent"
)
COLOUR_PATTERN = rf"^(?:#[0-9a-fA-F]{{3}}|#[0-9a-fA-F]{{6}}|{COLOUR_NAMES})(?!\n)$"
STORABLE_PATTERN = r"^[^\x00\ud800-\udfff]*$"  # no NUL (PostgreSQL rejects it), no surrogates (UTF-8)
ELEMENT_ID_PATTERN = r"^\w[\w.:-]*(?!\n)$"
MAX_ELEMENT_ID_LENGTH = 40
MAX_CODE_LINES = 200

ElementId = Annotated[str, Meta(max_length=MAX_ELEMENT_ID_LENGTH, pattern=ELEMENT_ID_PATTERN)]
LineId = Annotated[str, Meta(pattern=r"^L[1-9][0-9]{0,5}(?!\n)$")]
Coordinate = Annotated[float, Meta(ge=-2000, le=3000)]
Size = Annotated[float, Meta(ge=1, le=2000)]
Colour = Annotated[str, Meta(pattern=COLOUR_PATTERN)]
BoardText = Annotated[str, Meta(min_length=1, max_length=4000, pattern=STORABLE_PATTERN)]
Formula = Annotated[str, Meta(min_length=1, max_length=1000, pattern=STORABLE_PATTERN)]
BoardLabel = Annotated[str, Meta(max_length=120, pattern=STORABLE_PATTERN)]
TableCell = Annotated[str, Meta(max_length=300, pattern=STORABLE_PATTERN)]
ChartValue = Annotated[float, Meta(ge=-1e12, le=1e12)]
LineHead = Literal["", "arrow", "dot"]

DEFAULT_INK_COLOUR = "#2f3437"


class BaseAction(Struct, frozen=True, kw_only=True, rename="camel", tag_field="name"):
    """Base type of all actions. The tag field `name` holds the action name."""


class OpenWhiteboard(BaseAction, frozen=True, kw_only=True, tag="wb_open"):
    """Show the whiteboard."""


class CloseWhiteboard(BaseAction, frozen=True, kw_only=True, tag="wb_close"):
    """Hide the whiteboard; what is on it stays."""


class ClearWhiteboard(BaseAction, frozen=True, kw_only=True, tag="wb_clear"):
    """Wipe the whiteboard."""


class DeleteElement(BaseAction, frozen=True, kw_only=True, tag="wb_delete"):
    """Take one element off the whiteboard."""

    element_id: ElementId


class Draw(BaseAction, frozen=True, kw_only=True):
    """Put an element on the whiteboard, under an id of its own."""

    element_id: ElementId | None = None


class DrawText(Draw, frozen=True, kw_only=True, tag="wb_draw_text"):
    """Write plain text; it wraps at its width."""

    content: BoardText
    x: Coordinate
    y: Coordinate
    width: Size = 400
    height: Size = 100
    font_size: Annotated[float, Meta(ge=8, le=120)] = 18
    color: Colour = DEFAULT_INK_COLOUR


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

    labels: Annotated[tuple[BoardLabel, ...], Meta(max_length=50)] = ()
    legends: Annotated[tuple[BoardLabel, ...], Meta(max_length=10)] = ()
    series: Annotated[
        tuple[Annotated[tuple[ChartValue, ...], Meta(max_length=50)], ...], Meta(min_length=1, max_length=10)
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
    color: Colour = DEFAULT_INK_COLOUR


class DrawTable(Draw, frozen=True, kw_only=True, tag="wb_draw_table"):
    """Draw a table; the first row is its head."""

    x: Coordinate
    y: Coordinate
    width: Size = 400
    height: Size = 160
    data: Annotated[
        tuple[Annotated[tuple[TableCell, ...], Meta(min_length=1, max_length=12)], ...],
        Meta(min_length=1, max_length=30),
    ]
    theme_color: Colour = "#5b8def"


class DrawLine(Draw, frozen=True, kw_only=True, tag="wb_draw_line"):
    """Draw a straight line; points are the heads at its start and its end."""

    start_x: Coordinate
    start_y: Coordinate
    end_x: Coordinate
    end_y: Coordinate
    color: Colour = DEFAULT_INK_COLOUR
    width: Annotated[float, Meta(ge=0.5, le=40)] = 2
    style: Literal["solid", "dashed"] = "solid"
    points: tuple[LineHead, LineHead] = ("", "")


class DrawCode(Draw, frozen=True, kw_only=True, tag="wb_draw_code"):
    """Show code; its lines are called L1, L2 and so on, and keep their names when others come or go."""

    language: Annotated[str, Meta(max_length=40, pattern=STORABLE_PATTERN)] = ""
    code: BoardText
    x: Coordinate
    y: Coordinate
    width: Size = 480
    height: Size = 280
    file_name: BoardLabel = ""

    def __post_init__(self) -> None:
        if len(split_code_lines(self.code)) > MAX_CODE_LINES:
            raise ValueError(f"code has more than {MAX_CODE_LINES} lines; show the part that matters")


def split_code_lines(code: str) -> list[str]:
    """Return the lines as a list; a newline at the end adds no empty string."""
    return code.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n")


class EditCode(BaseAction, frozen=True, kw_only=True, tag="wb_edit_code"):
    """Change lines of code by their names: insert at lineId, or delete or replace lineIds."""

    element_id: ElementId
    operation: Literal["insert_after", "insert_before", "delete_lines", "replace_lines"]
    line_id: LineId | None = None
    line_ids: Annotated[tuple[LineId, ...], Meta(max_length=MAX_CODE_LINES)] = ()
    content: Annotated[str, Meta(max_length=4000, pattern=STORABLE_PATTERN)] = ""

    def __post_init__(self) -> None:
        if not self.target_line_ids:
            wanted = "lineId" if self.operation.startswith("insert") else "lineIds"
            raise ValueError(f"{self.operation} needs {wanted}")

    @property
    def target_line_ids(self) -> tuple[str, ...]:
        """Return `line_ids`, or `line_id` as a tuple: models mix up the two fields."""
        return self.line_ids or ((self.line_id,) if self.line_id else ())


DrawAction = DrawText | DrawShape | DrawChart | DrawLatex | DrawTable | DrawLine | DrawCode
