"""What ``macao up`` tells the person who watches."""

from rich.console import Console
from rich.markup import escape


class Report:
    """A few lines, with colour where the terminal has it."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def server(self, name: str, version: str, note: str) -> None:
        """A server runs."""
        self._line(f"  [green]✓[/] {name} {version} [dim]{escape(note)}[/]")

    def migrated(self, count: int) -> None:
        """The database has the present schema."""
        self._line(f"  [green]✓[/] schema [dim]{f'{count} changes applied' if count else 'as it was'}[/]")

    def ready(self, url: str, seconds: float) -> None:
        """Everything answers."""
        self._line(f"  [green]✓[/] ready in {seconds:.1f} s")
        self._line(f"\n  [bold]Macao[/] is at [bold cyan]{url}[/]")
        self._line(f"  [dim]its API is described at {url}/schema; Ctrl-C stops it[/]\n")

    def event(self, text: str) -> None:
        """Something happened while it ran."""
        self._line(f"  [yellow]![/] {escape(text)}")

    def stopping(self) -> None:
        """The end has begun."""
        self._line("  stopping …")

    def stopped(self) -> None:
        """The end."""
        self._line("  [green]✓[/] stopped; the data are kept")

    def _line(self, text: str) -> None:
        self._console.print(text, highlight=False, soft_wrap=True)
