"""Writing games as SGF."""

from typing import Any

from sgfmill import sgf

from landmark import __version__
from landmark.go.record.game import GameRecord, RecordedMove
from landmark.go.rules.geometry import BLACK, PASS, WHITE, column_of, row_of
from landmark.go.rules.position import Move, Position

_LETTERS = {BLACK: "b", WHITE: "w"}


def _pair(point: int, size: int) -> tuple[int, int] | None:
    """sgfmill counts rows from the bottom; None is a pass."""
    return None if point == PASS else (size - 1 - row_of(point), column_of(point))


def write_game(game: GameRecord) -> bytes:
    """A game as the bytes of an SGF file, with comments and variations."""
    tree = sgf.Sgf_game(game.size, encoding="UTF-8")
    root = tree.get_root()
    root.set("AP", ("landmark", __version__))
    root.set("KM", game.komi)
    texts = {"PB": game.black, "PW": game.white, "RE": game.result, "RU": game.rules}
    for name, text in {**texts, "GC": game.game_comment, "C": game.comment}.items():
        if text:
            root.set(name, text)
    if game.handicap > 1:
        root.set("HA", game.handicap)
    if game.black_stones or game.white_stones:
        stones = [[_pair(p, game.size) for p in s] for s in (game.black_stones, game.white_stones)]
        root.set_setup_stones(*stones)
    first = game.moves[0].colour if game.moves else game.to_move
    if game.to_move != BLACK or first != game.to_move:
        root.set("PL", _LETTERS[game.to_move])
    node = root
    for move in game.moves:
        parent = node
        node = _add(parent, Move(move.colour, move.point), game.size, move.comment)
        if move.estimate is not None:
            node.set("V", move.estimate)
        comments = (*move.variation_comments, *[""] * len(move.variations))
        for variation, comment in zip(move.variations, comments, strict=False):
            below = parent
            for step in variation:
                below = _add(below, step, game.size, comment)
                comment = ""
    return bytes(tree.serialise())


def _add(parent: Any, move: Move, size: int, comment: str) -> Any:
    node = parent.new_child()
    node.set_move(_LETTERS[move.colour], _pair(move.point, size))
    if comment:
        node.set("C", comment)
    return node


def record_of(position: Position, black: str = "", white: str = "", result: str = "") -> GameRecord:
    """The game that led to a position."""
    start = position.start()
    moves = tuple(RecordedMove(*move) for move in position.moves)
    return GameRecord(
        size=position.size,
        komi=position.komi,
        handicap=position.handicap,
        black_stones=tuple(start.stones(BLACK)),
        white_stones=tuple(start.stones(WHITE)),
        to_move=start.to_move,
        moves=moves,
        black=black,
        white=white,
        result=result,
        rules="Chinese",
    )
