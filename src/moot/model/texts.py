"""Text that comes from outside: bounded, and without NUL, which no database keeps."""

from typing import Annotated

from msgspec import Meta

NO_NUL = r"^[^\x00]*$"
VISIBLE = r"^[^\s\x00][^\x00]*$"  # begins with something to see
ONE_LINE = r"^[^\s\x00]([^\r\n\x00]*[^\s\x00])?(?!\n)$"  # and ends so, with no line break in it

Name = Annotated[str, Meta(min_length=1, max_length=60, pattern=ONE_LINE)]
Title = Annotated[str, Meta(min_length=1, max_length=200, pattern=VISIBLE)]
Label = Annotated[str, Meta(max_length=60, pattern=NO_NUL)]
Line = Annotated[str, Meta(max_length=300, pattern=NO_NUL)]
Paragraph = Annotated[str, Meta(max_length=4000, pattern=NO_NUL)]
Paper = Annotated[str, Meta(max_length=20_000, pattern=NO_NUL)]
ModelName = Annotated[str, Meta(min_length=3, max_length=200, pattern=r"^[^\s\x00/]+/[^\s\x00]+(?!\n)$")]
