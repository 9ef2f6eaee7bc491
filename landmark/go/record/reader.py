"""Reading SGF files, of which many in use are not quite right.

A file may hold one game, many, or one a line; a faulty game is named with its place and the others
are still read. sgfmill parses each game by itself.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from sgfmill import sgf, sgf_grammar

from landmark.core.errors import ItemError, UserError
from landmark.core.structured_text import read_bounded
from landmark.go.record.game import GameRecord, RecordedMove
from landmark.go.rules.geometry import BLACK, LARGEST, PASS, SMALLEST, WHITE, point_at

LONGEST_FILE = 1 << 28
_ENCODINGS = ("utf-8", "gb18030", "shift_jis", "euc_kr")
_BEGINS = b"("
_NEXT_GAME = b"\n(;"
"""In a value as well, a line that begins so is taken for another game: the value was not closed."""
_ENDINGS = (".sgf", ".sgfs")
_LONGEST_GAME = 100_000
"""Nodes of a line; a game has about 300."""


class RawGame(NamedTuple):
    """The bytes of one game, and where they begin."""

    content: bytes
    place: str


def split_games(content: bytes, name: str) -> Iterator[RawGame]:
    """Cut a file into its games: each from "(;" to the bracket that closes it.

    Where brackets do not close, a game ends before the next line that begins with "(;".
    """
    position, number, line, counted = 0, 0, 1, 0
    while (start := _next_start(content, position)) is not None:
        number += 1
        line += content.count(b"\n", counted, start)
        counted = start
        end = _end_of(content, start)
        if end is None:  # unbalanced: what follows on a line of its own is another game
            following = content.find(_NEXT_GAME, start)
            end = following if following >= 0 else len(content)
        yield RawGame(content[start:end], f"{name}:{line}: game {number}")
        position = end


def _next_start(content: bytes, position: int) -> int | None:
    while (start := content.find(_BEGINS, position)) >= 0:
        if content[start + 1 : start + 100].lstrip()[:1] == b";":
            return start
        position = start + 1
    return None


def _end_of(content: bytes, start: int) -> int | None:
    """The place behind a game's last bracket; brackets in values do not count."""
    depth, position = 0, start
    while position < len(content):
        sign = content[position]
        if sign == 0x5B:  # [
            position = _end_of_value(content, position)
            if position < 0:
                return None
        elif sign == 0x28:  # (
            depth += 1
        elif sign == 0x29:  # )
            depth -= 1
            if depth == 0:
                return position + 1
        position += 1
    return None


def _end_of_value(content: bytes, position: int) -> int:
    """The place of the ] that ends a value; -1: there is none before another game begins."""
    begins, following = position, content.find(_NEXT_GAME, position)
    while True:
        position = content.find(b"]", position + 1)
        if position < 0 or begins < following < position:
            return -1
        backslashes = 0
        while content[position - 1 - backslashes] == 0x5C:
            backslashes += 1
        if backslashes % 2 == 0:
            return position


def parse_game(raw: RawGame, variations: bool = False) -> list[GameRecord]:
    """The main line of a game, or all its lines; anything wrong with it is an ItemError."""
    try:
        tree = _parse(raw.content)
        lines = _lines_of(tree.get_root()) if variations else [tree.get_main_sequence()]
        return [_read_line(tree, line, raw.place) for line in lines]
    except ItemError:
        raise
    except RecursionError:
        raise ItemError(f"{raw.place}: variations inside one another without end") from None
    except (ValueError, LookupError, TypeError, UserError) as error:
        raise ItemError(f"{raw.place}: {error or type(error).__name__}") from None


def _parse(content: bytes) -> Any:
    coarse = sgf_grammar.parse_sgf_game(content)
    try:
        return sgf.Sgf_game.from_coarse_game_tree(coarse, _encoding_of(coarse, content))
    except LookupError:
        return sgf.Sgf_game.from_coarse_game_tree(coarse, "ISO-8859-1")


def _encoding_of(coarse: Any, content: bytes) -> str:
    """What CA says, if the bytes are that; otherwise the first of the usual ones that fits."""
    declared = coarse.sequence[0].get("CA", [b""])[0].decode("ascii", "replace").strip()
    for encoding in (declared, *_ENCODINGS):
        try:
            content.decode(encoding)
        except (LookupError, UnicodeDecodeError, ValueError):
            continue
        return encoding
    return "ISO-8859-1"


def _lines_of(root: Any) -> list[list[Any]]:
    """Every line from the root to a leaf, the main one first."""
    finished, todo = [], [[root]]
    while todo:
        line = todo.pop()
        while len(line[-1]):
            node = line[-1]
            todo += [[*line, child] for child in reversed(list(node)[1:])]
            line.append(node[0])
            if len(line) > _LONGEST_GAME:
                raise ValueError(f"a line of more than {_LONGEST_GAME:,} nodes")
        finished.append(line)
    return finished


def _read_line(tree: Any, nodes: list[Any], place: str) -> GameRecord:
    root = nodes[0]
    size = tree.get_size()
    game_kind = _text(root, "GM")
    if game_kind not in ("", "1"):
        raise ItemError(f"{place}: GM[{game_kind}] is not Go")
    if not SMALLEST <= size <= LARGEST:
        raise ItemError(f"{place}: a board of {size}: sizes go from {SMALLEST} to {LARGEST}")
    black, white, first_move = _read_setup(nodes, size, place)
    moves = _read_moves(nodes[first_move:], size, place)
    handicap = _number(root, "HA")
    to_move = (
        moves[0].colour if moves else WHITE if handicap >= 2 or (black and not white) else BLACK
    )
    declared = _text(root, "PL").strip().upper()[:1]
    to_move = {"B": BLACK, "W": WHITE}.get(declared, to_move)
    return GameRecord(
        size=size,
        komi=_number(root, "KM"),
        handicap=int(max(0, min(handicap, 361))),
        black_stones=black,
        white_stones=white,
        to_move=to_move,
        moves=tuple(moves),
        black=_text(root, "PB"),
        white=_text(root, "PW"),
        result=_text(root, "RE").strip(),
        rules=_text(root, "RU"),
        comment=_text(root, "C"),
        game_comment=_text(root, "GC"),
        place=place,
    )


def _read_setup(
    nodes: list[Any], size: int, place: str
) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Stones set up before the first move, and the number of the node from which moves are read."""
    stones: dict[int, int] = {}
    for number, node in enumerate(nodes):  # noqa: B007
        if node.has_property("B") or node.has_property("W"):
            break
        if node.has_setup_stones():
            black, white, empty = node.get_setup_stones()
            for colour, pairs in ((BLACK, black), (WHITE, white), (0, empty)):
                stones |= {_point(pair, size): colour for pair in pairs}
    else:
        number = len(nodes)
    for node in nodes[number:]:
        if node.has_setup_stones():
            raise ItemError(f"{place}: stones are set up in the middle of the game")
    return (
        tuple(sorted(p for p, c in stones.items() if c == BLACK)),
        tuple(sorted(p for p, c in stones.items() if c == WHITE)),
        number,
    )


def _read_moves(nodes: list[Any], size: int, place: str) -> list[RecordedMove]:
    moves = []
    for node in nodes:
        colour, pair = node.get_move()
        if colour is not None:
            point = PASS if pair is None else _point(pair, size)
            estimate = _number(node, "V") if node.has_property("V") else None
            moves.append(
                RecordedMove(
                    {"b": BLACK, "w": WHITE}[colour], point, _text(node, "C"), estimate=estimate
                )
            )
    return moves


def _point(pair: tuple[int, int], size: int) -> int:
    """sgfmill counts rows from the bottom."""
    row, column = pair
    return point_at(size - 1 - row, column)


def _text(node: Any, name: str) -> str:
    try:
        return str(node.get(name)) if node.has_property(name) else ""
    except ValueError:
        return ""


def _number(node: Any, name: str) -> float:
    """A number of a node, 0 where it is missing or is none: many files write KM[5,5]."""
    try:
        raw = node.get_raw(name).decode("ascii", "replace") if node.has_property(name) else "0"
        value = float(raw.replace(",", ".").strip() or 0)
    except ValueError:
        return 0.0
    return value if abs(value) < 1000 else 0.0


def files_below(paths: list[Path]) -> Iterator[Path]:
    """The files themselves, and all SGF files in folders and their folders, by name."""
    for path in paths:
        if path.is_dir():
            yield from sorted(p for p in path.rglob("*") if p.suffix.lower() in _ENDINGS)
        elif path.exists():
            yield path
        else:
            raise UserError(f"{path}: there is no such file or folder")


def read_games(
    paths: list[Path],
    warn: Callable[[str], None],
    strict: bool = False,
    variations: bool = False,
    replay: bool = True,
) -> Iterator[GameRecord]:
    """The games of files and folders whose moves are all legal.

    A game at fault is named by `warn` and left out; with `strict`, the first one is an error.
    Without `replay` moves are not tried out: for those who do that themselves.
    """
    for path in files_below(paths):
        for raw in _games_in(path, warn, strict):
            try:
                for game in parse_game(raw, variations):
                    if replay:
                        game.replay()
                    yield game
            except ItemError as error:
                if strict:
                    raise
                warn(str(error))


def _games_in(path: Path, warn: Callable[[str], None], strict: bool) -> Iterator[RawGame]:
    content = read_bounded(path, LONGEST_FILE)
    found = False
    for raw in split_games(content, str(path)):
        found = True
        yield raw
    if not found:
        message = f"{path}: no game in it"
        if strict:
            raise ItemError(message)
        warn(message)


def read_game(path: Path) -> GameRecord:
    """The main line of the first game in a file."""
    for raw in split_games(read_bounded(path, LONGEST_FILE), str(path)):
        return parse_game(raw)[0]
    raise UserError(f"{path}: no game in it")
