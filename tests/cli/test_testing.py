import re
import signal
import socket

import pytest

from moot.providers.scripted.scripts import BUILT_IN_SCRIPTS, SCRIPT_FAULTS
from tests.support.moot_process import TIMEOUT_SECONDS, MootCli, read_until, usage_error_text

SCRIPTS = '[greeter]\nanswer = "Hello, {question}!"\n[broken]\nfault = "server_error"\n'


class TestServe:
    def test_lab_server_answers_in_three_wire_formats(self, moot: MootCli) -> None:
        moot.write_file("talk.toml", SCRIPTS)
        with moot.start_process("lab", "serve", "--port", "0", "--script", "talk.toml") as process:
            assert process.stdout
            output = read_until(process.stdout.fileno(), "Ctrl-C stops.")
            url = re.findall(r"http://127\.0\.0\.1:\d+", output)[0]
            moot.write_file(
                "moot.toml",
                f'[providers.one]\napi = "openai"\nbase_url = "{url}/v1"\n'
                f'[providers.two]\napi = "anthropic"\nbase_url = "{url}/v1"\n'
                f'[providers.three]\napi = "google"\nbase_url = "{url}/v1beta"\n',
            )
            models = ("-m", "one/greeter", "-m", "two/greeter", "-m", "three/greeter")
            done = moot("ask", "world", *models, "--usage")
        assert done.returncode == 0
        for name, model in (("Alpha", "one"), ("Beta", "two"), ("Gamma", "three")):
            assert f"=== {name} · {model}/greeter ===\nHello, world!\n" in done.stdout
            assert f"moot: {name} · {model}/greeter: 2 in, 4 out, cost unknown, " in done.stderr

    def test_printed_settings_work(self, moot: MootCli) -> None:
        with moot.start_process("lab", "serve", "--port", "0") as process:
            assert process.stdout
            output = read_until(process.stdout.fileno(), "Ctrl-C stops.")
            moot.write_file("moot.toml", output[output.index("[providers.lab]") : output.index("Ctrl-C")])
            done = moot("ask", "hi", "-m", "lab/echo")
        assert output.startswith(f"The failure lab serves {len(BUILT_IN_SCRIPTS)} scripts at http://127.0.0.1:")
        assert (done.returncode, done.stdout, done.stderr) == (0, "hi\n", "")

    def test_ctrl_c_ends_lab_server(self, moot: MootCli) -> None:
        with moot.start_process("lab", "serve", "--port", "0") as process:
            assert process.stdout
            port = int(read_until(process.stdout.fileno(), "Ctrl-C").split("127.0.0.1:")[1].split()[0])
            socket.create_connection(("127.0.0.1", port), TIMEOUT_SECONDS).close()
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=TIMEOUT_SECONDS)
        assert (process.returncode, err) == (130, b"")
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), TIMEOUT_SECONDS)

    def test_port_in_use_is_reported(self, moot: MootCli) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            error = usage_error_text(moot("lab", "serve", "--port", str(port)))
        assert error.startswith(f"--port {port}: cannot listen; ")
        assert error.endswith("Choose another port.")


class TestList:
    def test_list_shows_every_script_with_its_fault(self, moot: MootCli) -> None:
        done = moot("lab", "list")
        listed = dict(line.split(maxsplit=1) for line in done.stdout.splitlines())
        assert (done.returncode, done.stderr) == (0, "")
        assert list(listed) == list(BUILT_IN_SCRIPTS)
        assert listed["echo"] == "answers as written"
        assert listed["reset"] == SCRIPT_FAULTS["reset"]

    def test_list_includes_custom_scripts(self, moot: MootCli) -> None:
        moot.write_file("talk.yaml", "greeter: {answer: Hello}\necholess: {fault: silence}\n")
        listed = moot("lab", "list", "--script", "talk.yaml").stdout.splitlines()
        assert [line.split(maxsplit=1) for line in listed[-2:]] == [
            ["greeter", "answers as written"],
            ["echoless", SCRIPT_FAULTS["silence"]],
        ]

    @pytest.mark.parametrize(
        ("text", "fix"),
        [
            ("[a]\nanswer = \n", "The script talk.toml is invalid: "),
            ('[a]\nfault = "gremlins"\n', "a.fault: unknown fault 'gremlins'. `moot lab list` lists them."),
        ],
    )
    def test_list_rejects_invalid_script(self, moot: MootCli, text: str, fix: str) -> None:
        moot.write_file("talk.toml", text)
        assert fix in usage_error_text(moot("lab", "list", "--script", "talk.toml"))

    def test_list_rejects_missing_script(self, moot: MootCli) -> None:
        error = usage_error_text(moot("lab", "list", "--script", "gone.toml"))
        assert error == "Cannot read the script gone.toml: No such file or directory."


def test_discord_demo_prints_conversation_of_three_personas(moot: MootCli) -> None:
    done = moot("lab", "discord")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[-3:] == [
        "Engineer: Then let me draw it. One leg, three feet.",
        "anna: stop",
        "Engineer: First the foot: it must be",
    ]
    assert [line.partition(":")[0] for line in lines[-8:-3]] == [
        "Sceptic",
        "Sceptic",
        "Engineer",
        "Historian",
        "Sceptic",
    ]
