"""The README's example runs as shown and prints what is shown."""

import contextlib
import io
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_first_example_prints_what_is_shown() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    code, shown = re.search(r"```python\n(.*?)```\s+```text\n(.*?)```", text, re.DOTALL).groups()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})
    assert printed.getvalue() == shown
