"""rich's console and progress bars, whose texts are escaped and whose colours are not."""

import sys
from collections.abc import Iterable
from typing import Any

import rich.console
import rich.progress
from rich.console import ConsoleOptions, RenderableType
from rich.file_proxy import FileProxy
from rich.segment import Segment

from landmark.cli.terminal import escaped, plain


class Console(rich.console.Console):
    """A console on stdout or stderr that shows the control characters of what it prints."""

    def __init__(self, stderr: bool = False, quiet: bool = False) -> None:
        super().__init__(file=plain(sys.stderr if stderr else sys.stdout), quiet=quiet)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=escaped(segment.text))


class Bar(rich.progress.Progress):
    """A progress bar; what is printed meanwhile to the same terminal stands above it."""

    def __init__(self, *columns: Any, console: Console, transient: bool = False) -> None:
        on_terminal = sys.stdout is not None and sys.stdout.isatty()
        super().__init__(
            *columns,
            console=console,
            transient=transient,
            disable=not console.is_terminal,
            redirect_stdout=on_terminal,
        )

    def start(self) -> None:
        super().start()
        for name in ("stdout", "stderr"):
            if type(proxy := getattr(sys, name)) is FileProxy:
                setattr(sys, name, _Above(self.console, proxy.rich_proxied_file))


class _Above(FileProxy):
    """Lines printed above a progress bar, escaped before rich looks for colours in them."""

    def write(self, text: str) -> int:
        return super().write(escaped(text))
