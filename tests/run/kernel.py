"""What a notebook's kernel does with its cells, as far as a library can notice.

    python kernel.py < notebook       one statement a cell

Cells are compiled under the names of files that do not exist and run in `__main__`, which has no
file of its own, from within a running event loop; what they print goes to no file either.
"""

import ast
import asyncio
import io
import sys


async def main() -> None:
    """Runs the cells one after the other, then prints what they printed."""
    statements, screen = ast.parse(sys.stdin.read()).body, sys.stdout
    module = sys.modules["__main__"]
    del module.__file__
    sys.stdout = io.StringIO()
    for number, statement in enumerate(statements):
        cell = ast.Module([statement], type_ignores=[])
        exec(compile(cell, f"/nowhere/ipykernel_1/{number}.py", "exec"), vars(module))
        await asyncio.sleep(0)
    screen.write(sys.stdout.getvalue())


if __name__ == "__main__":
    asyncio.run(main())
