"""Makes docs/ask.svg: a real run of scripted models in the live view, caught in the middle.

Run it with: uv run python docs/picture.py
"""

import asyncio
import io
import re
from pathlib import Path

from rich.console import Console
from rich.text import Text

from moot.engine.runs.ephemeral import EphemeralRun, RunLog
from moot.engine.turns.model_caller import ModelCaller
from moot.providers.keys import KeyRing
from moot.providers.registry import ResolvedModel
from moot.providers.scripted.provider import ScriptedProvider
from moot.providers.scripted.scripts import Script, Scripts
from moot.streaming.cancellation import StopSignal
from moot.terminal.columns import LiveColumns
from moot.types.participants import Participant
from moot.types.requests import user_message
from moot.types.run_plan import RunPlan

QUESTION = "Should a small team rewrite its web server in Rust?"
SECONDS = 2.2
SCRIPTS = {
    "optimist": Script(
        answer="Yes, if the team wants to. Memory errors go away as a class, the compiler reviews every "
        "change, and a server that idles at twenty megabytes is a pleasant thing to own. The price is paid "
        "once, at the start; the calm is paid out every day after that. Begin with the one service that hurts.",
        chunk_interval_seconds=0.08,
    ),
    "sceptic": Script(
        answer="No. What did users ask for last month? A rewrite answers none of it. Profile first: most slow "
        "servers wait for a database, and a query waits just as long in Rust. If one hot loop is left after "
        "that, rewrite the loop and keep the server.",
        thoughts="What problem is this the answer to?",
        chunk_interval_seconds=0.11,
    ),
    "unplugged": Script(fault="forbidden"),
}


async def picture() -> str:
    console = Console(record=True, file=io.StringIO(), width=116, height=19, force_terminal=True)
    live = LiveColumns(console)

    provider = ScriptedProvider(Scripts(SCRIPTS))
    names = {"Alpha": "optimist", "Beta": "sceptic", "Gamma": "unplugged"}
    participants = tuple(Participant(name.lower(), name, f"scripted/{script}") for name, script in names.items())
    chains = {
        name.lower(): (ResolvedModel(f"scripted/{script}", provider, script, KeyRing(())),)
        for name, script in names.items()
    }
    stop = StopSignal()
    plan = RunPlan(mode="parallel", participants=participants)
    run = EphemeralRun(plan=plan, question=user_message(QUESTION), chains=chains)
    running = asyncio.create_task(run.execute(RunLog(live.apply_events), ModelCaller(), stop))
    await asyncio.sleep(SECONDS)
    console.print(Text(f'$ moot ask "{QUESTION}" -m … -m … -m …'))
    console.print(live.render_view())
    stop.request_stop()
    await running
    svg = console.export_svg(title="moot ask")
    return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)  # nothing is fetched from anywhere


if __name__ == "__main__":
    Path(__file__).with_name("ask.svg").write_text(asyncio.run(picture()))
