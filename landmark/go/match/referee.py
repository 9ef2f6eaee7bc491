"""Who counts the finished games: a GNU Go process of its own, or our playouts."""

from landmark.go.gtp.controller import CommandFailed, Controller, ProgramError
from landmark.go.match.contestant import gnu_go_command
from landmark.go.player import Player
from landmark.go.rules.geometry import COLOUR_NAMES, vertex
from landmark.go.rules.position import Position

_LEVEL = 10
_PATIENCE = 300.0


def parse_score(text: str) -> float | None:
    """Black's score in a result such as B+3.5, W+1.0 or 0; None: there is none."""
    sign = {"B+": 1.0, "W+": -1.0}.get(text[:2].upper())
    if text.strip() == "0":
        return 0.0
    try:
        return None if sign is None else sign * float(text[2:].split()[0])
    except (ValueError, IndexError):
        return None


def own_count(position: Position) -> float:
    """The score with the stones removed that playouts take for dead."""
    return position.score(Player.dead_stones(position))


def gnu_go_count(position: Position, seed: int = 1) -> float | None:
    """GNU Go's final_score after the same moves; None: it gave none."""
    start = position.start()
    commands = [f"boardsize {position.size}", "clear_board", f"komi {position.komi:g}"]
    for colour, name in COLOUR_NAMES.items():
        commands += [f"play {name} {vertex(p, position.size)}" for p in start.stones(colour)]
    commands += [f"play {COLOUR_NAMES[c]} {vertex(p, position.size)}" for c, p in position.moves]
    try:
        with Controller(gnu_go_command(_LEVEL).replace("{seed}", str(seed))) as controller:
            for command in commands:
                controller.send(command, _PATIENCE)
            return parse_score(controller.send("final_score", _PATIENCE))
    except (CommandFailed, ProgramError):
        return None
