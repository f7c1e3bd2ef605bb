import pytest

from moot.channels.discord.humanize import Humanizer

HUMANIZER = Humanizer(["Beta", "Gamma Ray", "Bob"])


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Hello, World; I am here.", "hello world i am here."),
        ("NASA and the GPUs of GitHub", "NASA and the GPUs of GitHub"),
        ("The U.S. Army", "the U.S. army"),
        ("See `Print(A, B)`, Please", "see `Print(A, B)` please"),
        ("At https://Example.org/A,b; Really", "at https://Example.org/A,b really"),
        ("Write to Bob.Smith@Example.org, Now", "write to Bob.Smith@Example.org now"),
        ("Beta, Gamma Ray and Delta", "Beta Gamma Ray and delta"),
        ("<@11>, You", "<@11> you"),
        ("1,000 and 2,5", "1,000 and 2,5"),
        ("One,two", "one two"),
        ("Fine ;)", "fine ;)"),
        ("It's Don't", "it's don't"),
        ("Ja\uff0c Nein", "ja  nein"),
    ],
)
def test_lower_case_without_commas_but_for_what_is_kept(text: str, wanted: str) -> None:
    assert HUMANIZER.humanized(text) == wanted
