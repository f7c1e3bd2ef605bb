import subprocess
import sys

import pytest

from moot.prompts.templates import load_template, render_template

PERSONA_FIELDS = {"name": "Cook", "description": "Cooks {well}.", "traits": "", "specialisations": "soup"}


def test_render_template_omits_paragraph_with_empty_value() -> None:
    assert render_template("part", PERSONA_FIELDS) == (
        "You take the part of Cook.\n\nCooks {well}.\n\nYou know most about soup."
    )


@pytest.mark.parametrize(
    "name",
    [
        "called_upon",
        "go_on_alone",
        "go_on_together",
        "language",
        "not_shown",
        "roundtable",
        "side_by_side",
        "your_turn",
    ],
)
def test_load_template_returns_complete_text(name: str) -> None:
    text = load_template(name).format(name="Alpha", others="Beta", language="German")
    assert text == text.strip() != ""
    assert "{" not in text


@pytest.mark.parametrize("module", ["library", "tasks.knowledge"])
def test_prompt_modules_do_not_import_language_detection(module: str) -> None:
    code = f"import sys, moot.prompts.{module}; sys.exit('moot.prompts.language' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=120).returncode == 0  # noqa: S603
