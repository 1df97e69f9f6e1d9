"""How a run ended, in words."""

from virial.run.status import Status


def test_a_status_is_words():
    status = Status("interrupted", "10 of 20 steps")
    assert status.ok
    assert str(status) == "interrupted: 10 of 20 steps"
