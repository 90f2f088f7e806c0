"""The command line: parse, call, print, exit code; nothing else. One module per command, loaded when it is asked for.

stdout holds data only (a diff, findings, a page), stderr everything said to a person. Exit codes: 0 nothing to do, or
all written; 1 findings, changes pending, or units left behind; 2 usage error, internal error, interrupt, or a file
that failed; 3 the check failed and a unit was backed out.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click

from torchless import __version__
from torchless.cli.output import fail
from torchless.errors import ToolError

# command -> the module that holds it, under the command's own name
COMMANDS: Mapping[str, str] = {
    "check": "check",
    "explain": "rules",
    "init": "init",
    "migrate": "migrate",
    "plan": "plan",
    "profile": "profile",
    "report": "report",
    "rules": "rules",
    "undo": "undo",
    "verify": "verify",
    "why": "why",
}


class _Commands(click.Group):
    """A group whose commands are imported one by one: a hook should not wait for what it does not run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"torchless.cli.{COMMANDS[cmd_name]}")
        command: click.Command = getattr(module, cmd_name)
        return command


def main(arguments: Sequence[str] | None = None) -> int:
    """Run torchless with ``arguments`` (default: the process's own) and give the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    seen: dict[str, Any] = {}
    try:
        with torchless.make_context("torchless", words, obj=seen) as context:
            code: int = torchless.invoke(context)
        sys.stdout.flush()
        return code
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        return fail(error.format_message(), help_page=True)
    except click.ClickException as error:
        return fail(error.format_message())
    except ToolError as error:
        return fail(str(error))
    except (KeyboardInterrupt, click.Abort):
        undo = "; a write that was finished stands, `torchless undo` takes it back" if seen.get("writing") else ""
        return fail(f"interrupted; no file is half written{undo}")
    except Exception as error:
        if seen.get("verbose"):
            import traceback  # here: nobody else pays for it

            traceback.print_exc()
        what = f"{type(error).__name__}: {error}"
        return fail(f"internal error: {what} (run with -v for the trace; please report)")


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    no_args_is_help=True,
)
@click.version_option(__version__, prog_name="torchless", message="%(prog)s %(version)s")
def torchless() -> None:
    """Take heavy framework headers out of GPU launchers, automatically and provably safely."""
