import os
import signal

import msgspec
import pytest
from inline_snapshot import snapshot

from moot.providers.scripted.scripts import SAMPLE_ANSWER
from moot.types.events import Event, RunEnded, TurnEnded
from tests.support.moot_process import TIMEOUT_SECONDS, MootCli, read_until, wait_until_pipe_is_empty

decode = msgspec.json.Decoder(Event).decode


@pytest.fixture
def pausing_moot(moot: MootCli) -> MootCli:
    """Make the scripted model pause after its first words for longer than a test takes."""
    moot.write_file("talk.toml", f'[pausing]\nanswer = """{SAMPLE_ANSWER}"""\nchunk_interval_seconds = 600.0\n')
    moot.write_file("moot.toml", '[providers.scripted]\nscript = "talk.toml"\n')
    return moot


class TestCtrlC:
    def test_ctrl_c_keeps_partial_answer(self, pausing_moot: MootCli) -> None:
        with pausing_moot.start_process("ask", "hi", "-m", "scripted/pausing") as process:
            assert process.stdout
            output = read_until(process.stdout.fileno(), SAMPLE_ANSWER[:8])
            process.send_signal(signal.SIGINT)
            rest, err = process.communicate(timeout=TIMEOUT_SECONDS)
        printed = output + rest.decode()
        assert process.returncode == 130
        assert err == b"moot: Stopped.\n"
        assert printed.endswith("\n")
        assert SAMPLE_ANSWER.startswith(printed.rstrip("\n"))
        assert len(printed) < len(SAMPLE_ANSWER)

    def test_ctrl_c_keeps_partial_answers_of_several_models(self, scripted_moot: MootCli) -> None:
        models = ("-m", "scripted/late", "-m", "scripted/hesitant", "-m", "scripted/silence")
        with scripted_moot.start_process("ask", "hi", *models) as process:
            assert process.stdout
            output = read_until(process.stdout.fileno(), "Here at last.")
            process.send_signal(signal.SIGINT)
            rest, err = process.communicate(timeout=TIMEOUT_SECONDS)
        assert (process.returncode, err) == (130, b"")
        assert output + rest.decode() == snapshot("""\
=== Alpha · scripted/late ===
Here at last.

=== Beta · scripted/hesitant ===
A table
[Stopped.]

=== Gamma · scripted/silence ===
[Stopped.]

""")

    def test_ctrl_c_marks_turn_and_run_as_stopped_in_json(self, pausing_moot: MootCli) -> None:
        with pausing_moot.start_process("ask", "hi", "-m", "scripted/pausing", "--json") as process:
            assert process.stdout
            output = read_until(process.stdout.fileno(), "text_delta")
            process.send_signal(signal.SIGINT)
            rest, err = process.communicate(timeout=TIMEOUT_SECONDS)
        *_, turn, run = [decode(line) for line in (output + rest.decode()).rstrip("\n").split("\n")]
        assert (process.returncode, err) == (130, b"")
        assert isinstance(turn, TurnEnded)
        assert (turn.status, turn.message.text[:8]) == ("stopped", SAMPLE_ANSWER[:8])
        assert isinstance(run, RunEnded)
        assert run.status == "stopped"


def test_ctrl_c_interrupts_reading_piped_input(moot: MootCli) -> None:
    read, write = os.pipe()
    try:
        with moot.start_process("ask", "hi", "-m", "scripted/echo", stdin=read) as process:
            os.write(write, b"Some words, and ")
            wait_until_pipe_is_empty(read)
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=TIMEOUT_SECONDS) == 130
    finally:
        os.close(read)
        os.close(write)


@pytest.mark.parametrize(
    "words", [pytest.param("Tell me a long story.", marks=pytest.mark.slow), "The quick brown fox. " * 300]
)
def test_ctrl_c_stops_embedded_model_while_it_reads_or_generates(moot: MootCli, words: str) -> None:
    with moot.start_process("ask", words, "-m", "local/smollm2", "--json") as process:
        assert process.stdout is not None
        read_until(process.stdout.fileno(), "turn_started" if len(words) > 100 else "text_delta")
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=TIMEOUT_SECONDS) == 130
        assert process.stderr is not None
        assert b"FATAL" not in process.stderr.read()
