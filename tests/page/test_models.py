"""Models and keys: what answers and what does not, keys that come and go unseen, and tokens that are shown once."""

import re
from pathlib import Path

from playwright.async_api import Page, expect

from moot.providers.scripted.scripts import BUILT_IN_SCRIPTS, Script, Scripts
from moot.testing.provider_server import FakeProviderServer
from moot.testing.provider_server import serve_provider as performing
from tests.page.axe import assert_accessible
from tests.page.dedicated_server import run_server_for_page
from tests.page.page_errors import PageErrors
from tests.page.phone import assert_fits_phone
from tests.support.moot_server import MootServer

KEY = "sk-canary-0123456789abcdef"


async def test_provider_key_is_added_and_removed_and_never_shown(
    tmp_path: Path, page: Page, page_errors: PageErrors
) -> None:
    page_errors.allow("status of 400")  # an invalid key is rejected
    async with performing(FakeProviderServer(Scripts({**BUILT_IN_SCRIPTS, "small": Script()}))) as lab:
        settings = f'[providers.club]\napi = "openai"\nbase_url = "{lab}/v1"\nkey_env = "CLUB_KEY"\n'
        async with run_server_for_page(page, tmp_path, settings=settings, OLLAMA_BASE_URL=f"{lab}/v1") as server:
            await page.goto(f"{server.url}/models")
            ready = page.get_by_role("region", name="Ready")
            wanting = page.get_by_role("region", name="Needs a key")
            await expect(ready.get_by_role("listitem").filter(has_text="Ollama").first).to_contain_text(
                "Found at 127.0.0.1"
            )
            await expect(page.get_by_role("region", name="Not running")).to_contain_text("vllm serve")
            await expect(wanting).to_contain_text("ANTHROPIC_API_KEY")
            await assert_accessible(page)
            await assert_fits_phone(page)

            await wanting.get_by_role("button", name="Add a key for club").click()
            field = page.get_by_label("Key for club")
            await field.fill("two words")
            await field.press("Enter")
            await expect(wanting.get_by_role("alert")).to_contain_text("Paste it without spaces")
            await field.fill(KEY)
            await field.press("Enter")
            club = ready.get_by_role("listitem").filter(has_text="Your own key is used.").first
            await expect(club).to_contain_text("club")
            assert KEY not in await page.content()
            assert await page.evaluate("document.activeElement !== document.body")

            await page.goto(server.url)
            await expect(page.get_by_role("button", name=re.compile(r"^Edit .*club."))).to_be_visible()
            await expect(page.get_by_role("button", name=re.compile(r"^Edit .*ollama."))).to_be_visible()
            await expect(page.get_by_text("without any key")).to_have_count(0)

            await page.goto(f"{server.url}/models")
            await ready.get_by_role("button", name="Remove the key for club").click()
            await assert_accessible(page, within=page.get_by_role("dialog"))
            await page.get_by_role("button", name="Remove the key", exact=True).click()
            await expect(wanting.get_by_role("button", name="Add a key for club")).to_be_visible()
            assert [one["key"] for one in (await server.get("/api/providers")).body if one["name"] == "club"] == [
                "missing"
            ]


async def test_api_token_is_created_shown_once_and_deleted(
    server: MootServer, page: Page, page_errors: PageErrors
) -> None:
    await page.goto(f"{server.url}/models")
    tokens = page.get_by_role("region", name="API tokens")
    await tokens.get_by_label("Name of a new token").fill("my script")
    await tokens.get_by_role("button", name="Create token").click()
    secret = await tokens.locator("code").inner_text()
    who = {"Authorization": f"Bearer {secret}"}
    known = (await server.get("/api/me", who)).body
    assert known["kind"] == "token"
    assert known["name"] == (await server.get("/api/me")).body["name"]
    await page.reload()
    await expect(tokens).to_contain_text("my script")
    assert secret not in await page.content()
    await tokens.get_by_role("button", name="Delete the token my script").click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete the token").click()
    await expect(tokens.get_by_text("my script")).to_have_count(0)
    assert (await server.get("/api/me", who)).status == 401
