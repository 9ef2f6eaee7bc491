"""Reading a lexicon table: tab-separated values with a header line and # comments."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from landmark.core.errors import UserError

DIRECTORY = Path(__file__).parent / "lexicon"


@dataclass(frozen=True)
class Row:
    """One line of a lexicon file, which knows where it stands."""

    file: str
    line: int
    fields: dict[str, str]

    def error(self, message: str) -> UserError:
        """An error that names the file and the line."""
        return UserError(f"{self.file}, line {self.line}: {message}")

    def text(self, column: str) -> str:
        """The field as written; an empty one is an error."""
        value = self.fields[column]
        if not value:
            raise self.error(f"column '{column}' is empty (write - for none)")
        return value

    def optional(self, column: str) -> str:
        """The field, with "-" read as nothing."""
        value = self.text(column)
        return "" if value == "-" else value

    def items(self, column: str, separator: str = ",") -> tuple[str, ...]:
        """The field's parts, none for "-"."""
        value = self.optional(column)
        return tuple(value.split(separator)) if value else ()

    def choice(self, column: str, choices: tuple[str, ...]) -> str:
        """The field, which must be one of the choices."""
        value = self.text(column)
        if value not in choices:
            raise self.error(f"{column} '{value}' is unknown (known: {', '.join(choices)})")
        return value


def read_rows(path: Path, columns: tuple[str, ...]) -> Iterator[Row]:
    """The rows of a lexicon file, whose header must name exactly these columns."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path.name} cannot be read as UTF-8 text: {error}") from error
    header_seen = False
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = tuple(line.rstrip("\r").split("\t"))
        if not header_seen:
            if fields != columns:
                raise UserError(f"{path.name}, line {number}: header must be {' '.join(columns)}")
            header_seen = True
            continue
        if len(fields) != len(columns):
            raise UserError(
                f"{path.name}, line {number}: {len(fields)} columns instead of {len(columns)}"
            )
        yield Row(path.name, number, dict(zip(columns, fields, strict=True)))


def reject_duplicates(rows: list[Row], key: Callable[[Row], object]) -> None:
    """Two lines with the same key would give one English expression two German ones."""
    first_line: dict[object, int] = {}
    for row in rows:
        if key(row) in first_line:
            raise row.error(f"'{row.fields['english']}' repeats line {first_line[key(row)]}")
        first_line[key(row)] = row.line
