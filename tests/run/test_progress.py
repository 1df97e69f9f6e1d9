"""One line that fits 80 columns on a terminal, nothing anywhere else, at no cost."""

import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import time

import pytest
from rich.console import Console
from run.models import ROOT, environment, normal, normal_sampler

import virial as vr
from virial.run.progress import Bar, Silent, display, short

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def lines(output):
    return [line for line in re.split(r"[\r\n]+", ESCAPES.sub("", output)) if line.strip()]


def drawn(monkeypatch, total, passes, reports, width=80):
    """What a terminal shows; reports are (seconds since the first, chain-steps, sd error)."""
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=width, force_jupyter=False)
    bar = Bar(console, 0, total, passes)
    start = time.perf_counter()
    with bar:
        for seconds, steps, error in reports:
            with monkeypatch.context() as patch:
                patch.setattr(time, "perf_counter", lambda s=seconds: start + 1 + s)
                bar.show(steps, error)
    return lines(file.getvalue())


def test_the_bar_says_steps_passes_rate_time_left_and_the_worst_sd(monkeypatch):
    reports = [(0, 10**6, float("nan")), (1, 3 * 10**6, 0.034)]
    shown = drawn(monkeypatch, 4 * 10**6, 0.01, reports)
    assert any("1M steps 10k passes" in line and "/s" not in line for line in shown)
    assert any("3M steps 30k passes 2M/s sd ±3.4%" in line for line in shown)
    assert any(re.search(r"sd ±3\.4% +(\d\d:\d\d|-:--)", line) for line in shown)
    assert any("75%" in line for line in shown)


@pytest.mark.parametrize("width", [80, 100])
def test_the_longest_bar_is_one_line(monkeypatch, width):
    steps = 999_499_999_999
    reports = [(0, 1, 9.999), (10**6, steps // 1000, 9.999), (2 * 10**6, steps, 9.999)]
    shown = drawn(monkeypatch, 10**12, 9.99e-1, reports, width)
    assert max(map(len, shown)) <= width
    for line in shown:
        assert line.startswith("sampling")
    assert all("passes" in line for line in shown[1:])
    assert not any("…" in line for line in shown)


def test_redrawing_costs_less_than_a_hundredth(monkeypatch):
    bar = Bar(Console(file=io.StringIO(), force_terminal=True, width=80), 0, 10**9, 0.01)
    with bar:
        bar.show(1, 0.1)
        bar._drawn = -1
        began = time.process_time()
        for k in range(20):
            bar._drawn = 0  # long ago: every call draws
            bar.show(k + 2, 0.1)
        per_drawing = (time.process_time() - began) / 20
        began = time.process_time()
        for k in range(1000):
            bar.show(k + 30, 0.1)
        per_call = (time.process_time() - began) / 1000
    # Four drawings a second; and ten calls, one a chunk.
    assert 4 * per_drawing + 10 * per_call < 0.01


def test_nothing_is_shown_where_there_is_no_terminal(capfd):
    assert isinstance(display(True, 0, 1, 1.0), Silent)
    assert isinstance(display(False, 0, 1, 1.0), Silent)
    vr.sample(normal(), normal_sampler(), 1000, cores=1)
    assert capfd.readouterr() == ("", "")


def test_on_a_terminal_of_80_columns():
    code = (
        "import virial as vr; from run.models import *;"
        "vr.sample(normal(), normal_sampler(), 300_000, num_chains=2, cores=1, keep_every=None)"
    )
    screen, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    plain = {k: v for k, v in environment(TERM="xterm").items() if k != "COLUMNS"}
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        env=plain, cwd=ROOT, stdin=terminal, stdout=terminal, stderr=terminal,
    )  # fmt: skip
    os.close(terminal)
    output = b""
    while True:
        try:
            part = os.read(screen, 4096)
        except OSError:
            break
        if not part:
            break
        output += part
    os.close(screen)
    assert process.wait() == 0, output.decode()
    shown = lines(output.decode())
    assert all(len(line) <= 80 and line.startswith("sampling") for line in shown)
    assert re.search(r"100% 600k steps 60k passes [\d.]+[kM]?/s sd ±[\d.]+% 00:00", shown[-1])


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (999, "999"), (999.9, "1k"), (1e6, "1M"), (1.234e12, "1.23e+03G"), (0.01, "0.01")],
)
def test_numbers_are_short(number, text):
    assert short(number) == text
