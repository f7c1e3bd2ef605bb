from tests.cli.process import MootCli


def test_three_personas_talk_until_they_are_stopped(moot: MootCli) -> None:
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
