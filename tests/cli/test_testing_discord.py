from tests.support.moot_process import MootCli


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
