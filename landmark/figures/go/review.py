"""The win rate of a reviewed game, move by move, for `landmark go review --figure`."""

from typing import TYPE_CHECKING

from landmark.figures import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from landmark.go.review import Review

_NAMED = 5


def draw(review: "Review") -> "Figure":
    """Black's win rate, the worst moves marked, and the mean score of the playouts below."""
    from landmark.go.rules.geometry import vertex

    figure, grid = style.panels(2, 1, size=(7.0, 2.4), sharex=True)
    numbers = [move.number for move in review.moves]
    upper, lower = grid[0, 0], grid[1, 0]
    upper.plot(numbers, [100 * move.black_rate for move in review.moves], color=style.colour(0))
    upper.axhline(50, color="0.7", linewidth=0.8)
    for move in review.worst(_NAMED):
        height = 100 * move.black_rate
        upper.plot([move.number], [height], "o", color=style.colour(1), markersize=5)
        label = f"{move.number}: {vertex(move.played, review.game.size)}"
        upper.annotate(
            label, (move.number, height), xytext=(4, 6), textcoords="offset points", fontsize=8
        )
    upper.set(ylabel="Black wins, %", ylim=(-4, 108))
    lower.plot(numbers, [move.score for move in review.moves], color=style.colour(2))
    lower.axhline(0, color="0.7", linewidth=0.8)
    lower.set(xlabel="move", ylabel="score for Black")
    for axes in (upper, lower):
        style.tidy(axes)
    game = review.game
    names = f"{game.black or 'Black'} - {game.white or 'White'} {game.result}".strip()
    style.heading(figure, f"{names}: {review.simulations:,} simulations a move")
    return figure
