"""What all commands have: settings from files and variables, --no-X for each switch --X, and a log.

`equip` gives it to every command of an app, so that a new command has it too; `whole_command` is the app made ready.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from incrowd.cli import logs, settings
from incrowd.cli.exits import answer_in_json
from incrowd.cli.secrecy import remember
from incrowd.errors import ParameterError

CONFIG = "incrowd.config"
"""Where a context keeps the name of the file that its settings were read from."""

_SAVE, _HELP = "incrowd.save-config", "incrowd.help"


@cache
def whole_command() -> Any:  # noqa: ANN401 - typer's own copy of click has no public types
    """Return the command line as one command; typer takes long to make it."""
    from incrowd.cli.app import app

    equip(app)
    return typer.main.get_command(app)


def equip(app: typer.Typer) -> None:
    """Give every command of an app, and of the apps in it, what all commands have."""
    for info in app.registered_commands:
        info.cls = Command if info.cls in (None, TyperCommand) else info.cls
    for group in app.registered_groups:
        if group.typer_instance is not None:
            equip(group.typer_instance)


class Command(TyperCommand):
    """A command whose options may come from incrowd.toml or the environment, and whose call may be saved and logged."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - whatever typer's version gives
        super().__init__(*args, **kwargs)
        self.params += _shared_options()

    def make_parser(self, ctx: Any) -> Any:  # noqa: ANN401
        """Understand --no-X as well, which switches off what a file or a variable switched on."""
        parser: Any = super().make_parser(ctx)
        for parameter in self.params:
            if getattr(parameter, "is_flag", False):
                off = [f"--no-{settings.key_of(parameter)}"]
                parser.add_option(obj=parameter, opts=off, dest=parameter.name, action="store_const", const=False)
        return parser

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401
        """Read the command line, then the environment, then the file."""
        ctx.meta[_HELP] = "--help" in args  # which reads nothing
        if not ctx.resilient_parsing and not ctx.meta[_HELP]:
            settings.name_variables(ctx)
        rest: list[str] = super().parse_args(ctx, args)
        return rest

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401
        """Run the command; log and save what it was called with."""
        if ctx.params.get("as_json"):
            answer_in_json()
        logs.start(ctx)
        target = ctx.meta.get(_SAVE)
        if target is None:
            return super().invoke(ctx)
        _check_target(target, as_json=bool(ctx.params.get("as_json")))
        try:
            result = super().invoke(ctx)
        except typer.Exit:
            _save(ctx, target)
            raise
        _save(ctx, target)
        return result


@cache
def _shared_options() -> list[Any]:
    """Return the parameters of `_shared`, made by typer as it makes those of commands."""
    source = typer.Typer(add_completion=False)
    source.command(add_help_option=False)(_shared)
    return list(typer.main.get_command(source).params)


def _read(ctx: typer.Context, _parameter: typer.CallbackParam, value: str | None) -> None:
    if ctx.resilient_parsing or ctx.meta.get(_HELP):
        return
    file = value or (settings.FILE if Path(settings.FILE).is_file() else None)
    if file is not None:
        ctx.meta[CONFIG] = file
        ctx.default_map = settings.read_settings(ctx, file)
        remember([ctx.default_map])


def _open_log(ctx: typer.Context, _parameter: typer.CallbackParam, value: Path | None) -> None:
    if value is not None and not ctx.resilient_parsing:
        logs.open_log(value, settings.path_of(ctx))


def _note_target(ctx: typer.Context, _parameter: typer.CallbackParam, value: str | None) -> None:
    if value is not None:
        ctx.meta[_SAVE] = value


def _shared(
    config: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            callback=_read,
            is_eager=True,
            expose_value=False,
            help="Settings, a table per command; default: incrowd.toml in the current folder, if it is there.",
        ),
    ] = None,
    save_config: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            callback=_note_target,
            expose_value=False,
            help="Write what this call used as such a file, without passwords; - prints it.",
        ),
    ] = None,
    log: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            callback=_open_log,
            is_eager=True,
            expose_value=False,
            help="Append what was done as JSON lines: parameters, counts, durations, outcome; no data.",
        ),
    ] = None,
) -> None:
    """Have the options of all commands."""


def _check_target(target: str, *, as_json: bool) -> None:
    """Refuse what could not be saved, before anything is done."""
    if target != "-":
        from incrowd import io

        io.refuse_existing(Path(target), replaceable=False)
    elif as_json:
        fact = "Option --save-config - prints TOML, and --json prints JSON"
        raise ParameterError(fact, "name a file: --save-config incrowd.toml")


def _save(ctx: Any, target: str) -> None:  # noqa: ANN401
    from incrowd import io
    from incrowd.cli.show import Screen

    found, secrets = settings.used(ctx)
    text, screen = settings.to_toml(settings.path_of(ctx), found), Screen()
    if target == "-":
        screen.say(text.rstrip("\n"))
    else:
        with io.atomic_file(target) as temporary:
            temporary.write_text(text, encoding="utf-8")
    if secrets:
        screen.warn([f"not saved, give it by its environment variable instead: {'; '.join(secrets)}."])
