"""What a record says of the result and of komi, in the ways that people write it."""

from landmark.go.record.game import GameRecord
from landmark.go.rules.geometry import BLACK, EMPTY, WHITE

_DRAWN = ("0", "draw", "jigo", "d+j")


def recorded_score(game: GameRecord) -> float | None:
    """Black's score, komi included, 0 for a draw; None: it was not counted, or is not known.

    B+0.0 names a winner and no score.
    """
    text = game.result.strip().lower()
    if text in _DRAWN:
        return 0.0
    sign = {"b+": 1.0, "w+": -1.0}.get(text[:2])
    try:
        return None if sign is None else sign * float(text[2:].split()[0]) or None
    except (ValueError, IndexError):
        return None


def recorded_winner(game: GameRecord) -> int:
    """The colour that won; 0: nobody, or it is not known. RE[B] is enough."""
    return game.winner or {"B": BLACK, "W": WHITE}.get(game.result.strip().upper(), EMPTY)


def recorded_komi(game: GameRecord) -> float:
    """Komi in points: KM[750] is 7.5, and KM[375] or KM[3.75], stones by Chinese count, 7.5 too."""
    komi = game.komi / 100 if abs(game.komi) >= 100 else game.komi
    return 2 * komi if abs(komi) % 0.5 == 0.25 else komi
