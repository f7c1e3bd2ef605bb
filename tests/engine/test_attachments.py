import pytest
from msgspec.structs import replace

from moot.engine import attachments as module
from moot.engine.attachments import Attachments, load_attached_files
from moot.prompts.attachments import file_omission_note
from moot.prompts.parts import Attachment
from moot.providers.catalog import ProviderConfig
from moot.providers.registry import Registry
from moot.store.database import Database
from moot.store.discussions.files import Files
from moot.types.chunks import Text
from moot.types.discussions import Message
from moot.types.errors import UsageError
from moot.types.files import StoredFile
from moot.types.participants import make_participants
from moot.types.requests import File, ModelRequest, user_message
from moot.types.run_plan import RunPlan
from tests.support.accounts import ANNA, BERT, create_accounts

PNG = b"\x89PNG\r\n\x1a\n"
PLAN = RunPlan(mode="parallel", participants=make_participants(("lab/gpt-5", "lab/deepseek-chat")))


@pytest.fixture
async def files(database: Database) -> Files:
    await create_accounts(database)
    return Files(database)


@pytest.fixture
def attachments(files: Files) -> Attachments:
    lab = ProviderConfig(api="openai", base_url="http://127.0.0.1:9/v1", key_env="LAB_KEY")
    return Attachments(files, Registry({"lab": lab, "broken": ProviderConfig()}, {}))


async def store_file(files: Files, name: str, data: bytes, media_type: str = "text/plain") -> StoredFile:
    return await files.store_file(ANNA, ANNA, name, media_type, data.hex(), data)


def make_message(id: str, *files: str) -> Message:
    return Message(id=id, discussion="dis_1", role="user", content="Look.", files=files or None)


async def test_load_attached_files_inlines_text_and_keeps_other_files(files: Files) -> None:
    notes, cat = (
        await store_file(files, "notes.txt", b"Round."),
        await store_file(files, "cat.png", PNG, "image/png"),
    )
    messages = [make_message("msg_1", notes.id, cat.id), make_message("msg_2"), make_message("msg_3", cat.id)]
    assert await load_attached_files(files, ANNA, messages) == {
        "msg_1": (
            Attachment(Text("notes.txt:\n```\nRound.\n```"), name="notes.txt", size=6),
            Attachment(File("cat.png", "image/png", PNG), name="cat.png", size=len(PNG)),
        ),
        "msg_3": (Attachment(File("cat.png", "image/png", PNG), name="cat.png", size=len(PNG)),),
    }
    assert await load_attached_files(files, ANNA, [make_message("msg_2")]) == {}
    assert await load_attached_files(files, BERT, messages) == {"msg_1": (), "msg_3": ()}


async def test_load_attached_files_omits_content_of_other_files_when_only_text(files: Files) -> None:
    notes, cat = (
        await store_file(files, "notes.txt", b"Round."),
        await store_file(files, "cat.png", PNG, "image/png"),
    )
    found = await load_attached_files(files, ANNA, [make_message("msg_1", notes.id, cat.id)], only_text=True)
    text, image = found["msg_1"]
    assert text.part == Text("notes.txt:\n```\nRound.\n```")
    assert (image.part, image.size) == (File("cat.png", "image/png", b""), len(PNG))


async def test_load_attached_files_keeps_newest_files_when_size_limit_is_reached(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_LOADED_BYTES", 9)
    old, new = await store_file(files, "old.txt", b"12345"), await store_file(files, "new.txt", b"67890")
    messages = [make_message("msg_1", old.id), make_message("msg_2", new.id), make_message("msg_3", new.id)]
    found = await load_attached_files(files, ANNA, messages)
    assert [one.part for one in found["msg_1"]] == [file_omission_note(old)]
    assert found["msg_2"] == found["msg_3"]
    assert [one.part for one in found["msg_2"]] == [Text("new.txt:\n```\n67890\n```")]


async def test_validate_attachments_rejects_file_that_a_responder_cannot_read(
    files: Files, attachments: Attachments
) -> None:
    notes, cat = (
        await store_file(files, "notes.txt", b"Round."),
        await store_file(files, "cat.png", PNG, "image/png"),
    )
    await attachments.validate_attachments(ANNA, [notes.id], PLAN)
    await attachments.validate_attachments(ANNA, [notes.id, cat.id], replace(PLAN, to=("alpha",)))
    with pytest.raises(UsageError) as caught:
        await attachments.validate_attachments(ANNA, [notes.id, cat.id], PLAN)
    assert str(caught.value) == (
        "files[1]: Beta (lab/deepseek-chat) takes no image files such as cat.png: "
        "leave the file out or choose another model."
    )


@pytest.mark.parametrize("model", ["gone/x", "broken/x"])
async def test_validate_attachments_ignores_unknown_models(files: Files, attachments: Attachments, model: str) -> None:
    cat = await store_file(files, "cat.png", PNG, "image/png")
    await attachments.validate_attachments(
        ANNA, [cat.id], RunPlan(mode="single", participants=make_participants((model,)))
    )


async def test_validate_attachments_rejects_files_that_are_too_large_together(
    files: Files, attachments: Attachments, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_FILE_BYTES", 9)
    one, two = await store_file(files, "a.txt", b"12345"), await store_file(files, "b.txt", b"67890")
    await attachments.validate_attachments(ANNA, [one.id, one.id], PLAN)
    with pytest.raises(UsageError, match=r"^files: the total size is over"):
        await attachments.validate_attachments(ANNA, [one.id, two.id], PLAN)


async def test_readable_request_shows_request_as_sent_to_model(attachments: Attachments) -> None:
    cat = File("cat.png", "image/png", PNG)
    request = ModelRequest(model="m", messages=(user_message(cat, "What is it?"),))
    for model in ("lab/gpt-5", "gone/x"):
        (shown,) = (await attachments.readable_request(request, model)).messages
        assert shown == request.messages[0]
    (message,) = (await attachments.readable_request(request, "lab/deepseek-chat")).messages
    assert isinstance(message.parts[0], Text)
    assert "cannot read" in message.parts[0].text
