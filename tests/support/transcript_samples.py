"""A sample debate of three with everything that a transcript can contain, and texts that try to inject markup."""

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from moot.services.run_reports import LaneReport, RunReport
from moot.types.chunks import Usage
from moot.types.discussions import Discussion, Message
from moot.types.events import AgreementChecked, SpeakerSelected
from moot.types.faults import make_fault
from moot.types.files import StoredFile
from moot.types.participants import make_participants
from moot.types.versions import VersionedTurn
from tests.support.debate_samples import DEBATE_CLAIMS, RANKING, SUMMARY

NOON = 1_794_744_000.0  # 15 November 2026, 12:00 UTC
PARTICIPANTS = make_participants(("a/one", "b/two", "c/three"))
DISCUSSION = Discussion(
    id="dis_1",
    title="Shall we split it?",
    status="active",
    mode="debate",
    participants=PARTICIPANTS,
    rounds=2,
    persona=None,
    project=None,
    language="en",
    model=None,
    summary=None,
    usefulness=None,
    exported_at=None,
    created_at=NOON,
    updated_at=NOON,
)
NOTES_FILE = StoredFile(id="file_1", name="notes.txt", media_type="text/plain", size=6, created_at=NOON)
FILES = {NOTES_FILE.id: NOTES_FILE}


def user_message(content: str = "Shall we split it?", **fields: Any) -> Message:
    given = {"id": "msg_0", "seq": 1, "run": "run_1", "created_at": NOON, **fields}
    return Message(discussion="dis_1", role="user", content=content, **given)


def participant_message(position: int, content: str, stage: str = "initial", **fields: Any) -> Message:
    """Return an answer of the participant at a position."""
    who = PARTICIPANTS[position]
    given: dict[str, Any] = {
        "id": f"msg_{stage}_{who.id}",
        "run": "run_1",
        "name": who.name,
        "role": "assistant",
        "model": who.model,
        "usage": Usage(1200, 34),
        "cost_usd": 0.0123,
        "latency_seconds": 1.5,
        "created_at": NOON + 60,
    }
    return Message(discussion="dis_1", content=content, participant=who.id, stage=stage, **given | fields)


def single_version_turns(messages: Iterable[Message]) -> list[VersionedTurn]:
    """Turns that have one version each."""
    return [VersionedTurn(one) for one in messages]


MESSAGES = (
    user_message(files=("file_1",)),
    participant_message(0, "**Split** it now.", thoughts="The teams wait."),
    participant_message(
        1,
        "",
        status="failed",
        fault=make_fault("auth", "Key rejected for b (HTTP 401)."),
        usage=None,
        cost_usd=None,
    ),
    participant_message(2, "Wait a quar", status="partial", details="Figures: none."),
    participant_message(0, "I keep my position.", "debate"),
    participant_message(2, "I change my position.", "debate"),
    participant_message(0, "Split it, in steps.", "synthesis", role="synthesis"),
)
REPORT = RunReport(
    id="run_1",
    discussion="dis_1",
    message="msg_0",
    mode="debate",
    status="completed",
    created_at=NOON,
    lanes=tuple(
        LaneReport(
            participant=who.id,
            status="error" if who.id == "beta" else "complete",
            error="Key rejected for b (HTTP 401)." if who.id == "beta" else None,
            name=who.name,
            model=who.model,
            anchors={},
        )
        for who in PARTICIPANTS
    ),
    summary=SUMMARY,
    ranking=RANKING,
    claims=DEBATE_CLAIMS.claims,
    position_changes=DEBATE_CLAIMS.position_changes,
    dropped_quotes=DEBATE_CLAIMS.dropped_quotes,
    agreement=None,
    notices=(),
    decisions=(),
    usage=Usage(5000, 600),
    cost_usd=0.25,
    unpriced_calls=0,
)
LESSON_REPORT = replace(
    REPORT,
    lanes=(),
    summary=None,
    ranking=None,
    claims=(),
    position_changes=(),
    dropped_quotes=0,
    agreement=AgreementChecked(cache_key="a", agree=True, reason="All say yes."),
    decisions=(
        SpeakerSelected(cache_key="1", turn=0, next="alpha", reason="It begins."),
        SpeakerSelected(cache_key="2", turn=1, next="USER", reason="A question was asked."),
        SpeakerSelected(cache_key="3", turn=2, next="END", reason="All is said."),
    ),
    status="stopped",
    unpriced_calls=2,
)

HOSTILE_TEXTS = (
    "<script>alert(1)</script>",
    "</title><script>alert(1)</script>",
    "</style><img src=x onerror=alert(1)>",
    "</pre></code></details></article></main><iframe src='https://evil.example'></iframe>",
    '"><svg onload=alert(1)>',
    "' onmouseover='alert(1)",
    '" style="background:url(https://evil.example/x)" x="',
    "<!--",
    "-->",
    "<![CDATA[<b>]]>",
    "<?xml version='1.0'?>",
    "<!doctype html>",
    "[a](javascript:alert(1))",
    "[a](JaVaScRiPt:alert(1))",
    "[a](java\tscript:alert(1))",
    "[a](&#106;avascript:alert(1))",
    "[a](data:text/html;base64,PHNjcmlwdD4=)",
    "[a](vbscript:x)",
    "[a](file:///etc/passwd)",
    "[a](//evil.example/x)",
    "[a](/api/discussions)",
    '[a](https://example.org "x\\" onclick=\\"alert(1)")',
    '[a](<https://example.org/"onclick="alert(1)>)',
    "<javascript:alert(1)>",
    "<https://example.org/'onclick='alert(1)>",
    "![x](https://evil.example/pixel.png)",
    "![x](data:image/svg+xml;base64,PHN2Zz4=)",
    "![x](data:image/png;base64,iVBORw0KGgo=)",
    '![" onerror="alert(1)](https://evil.example/x.png)',
    "[![x](https://evil.example/a.png)](https://evil.example/b)",
    "[x]: javascript:alert(1)\n\n[x]",
    "[x]: https://example.org 'a\" onclick=\"alert(1)'\n\n[x]",
    '```"><script>alert(1)</script>\nx\n```',
    "```js onload=alert(1)\nx</code></pre><script>\n```",
    "~~~ <b>\n</pre>\n~~~",
    "    <script>in an indented block</script>",
    "`<img src=x onerror=alert(1)>`",
    "| <b>a</b> | b |\n|:--|--:|\n| <script>x</script> | ![i](https://evil.example/x.png) |",
    "# <img src=x onerror=alert(1)>",
    "> <base href=https://evil.example>",
    "- <meta http-equiv=refresh content='0;url=https://evil.example'>",
    "$<script>alert(1)</script>$",
    "$$\\text{</svg><script>alert(1)</script>}$$",
    "$\\href{javascript:alert(1)}{x}$",
    "\\(\\unicode{x}<b>\\)",
    "\\[\n</p><script>alert(1)</script>\n\\]",
    '$x" onload="alert(1)$',
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&#60;script&#62;alert(1)&#60;/script&#62;",
    "\x00<scr\x00ipt>alert(1)</script>\x1b[31m\u2028\u202e",
    "<scr<script>ipt>alert(1)</scr</script>ipt>",
    "<a href=https://example.org ping=https://evil.example>x</a>",
    "<style>*{background:url(https://evil.example)}</style>",
    "<form action=https://evil.example><input name=x></form>",
    "<math><mtext></p><script>alert(1)</script>",
    "<template><script>alert(1)</script></template>",
    "<object data=x></object><embed src=x><link rel=stylesheet href=//evil.example>",
    "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16") + "<b>",
)
