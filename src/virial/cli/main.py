"""The command `virial`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from virial.cli import bench, reproduce
from virial.cli.arguments import parser
from virial.extra import MissingExtra
from virial.run import single_thread


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit code."""
    arguments = parser().parse_args(argv)
    if arguments.command == "bench":
        return bench.run(arguments.rest)
    single_thread()
    try:
        if arguments.command == "reproduce":
            return reproduce.run(arguments.names, arguments.out, arguments.fast)
        # Imported late: JAX must not start before `single_thread`.
        from virial.cli import commands

        run = {
            "demo": commands.demo,
            "fit": commands.fit_table,
            "plan": commands.plan_table,
            "audit": commands.audit_file,
        }[arguments.command]
        run(arguments)
    except (MissingExtra, ValueError, OSError) as error:
        print(f"virial {arguments.command}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"virial {arguments.command}: interrupted", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
