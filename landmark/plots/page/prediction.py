"""What a language model would say next as a page: the text in colours of surprise, and a table."""

from collections.abc import Sequence
from html import escape
from pathlib import Path

from landmark.plots.figure import save_page
from landmark.plots.gate import readable
from landmark.plots.prediction import Row

_DARKEST = 12.0  # bits of surprise that have the full colour
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
  body {{ font: 15px/1.7 system-ui, sans-serif; margin: 1.5rem auto; max-width: 60rem;
         padding: 0 1rem; color: black; background: white; }}
  h1 {{ font-size: 1.1rem; overflow-wrap: anywhere; }}
  .text {{ font-family: ui-monospace, monospace; white-space: pre-wrap; }}
  .text span {{ border-radius: 3px; }}
  table {{ border-collapse: collapse; font-size: 0.85rem; }}
  th, td {{ padding: 0.1rem 0.6rem; text-align: right; border-bottom: 1px solid #ddd; }}
  td.token {{ font-family: ui-monospace, monospace; text-align: left; white-space: pre; }}
  td.came {{ outline: 2px solid #d62728; outline-offset: -2px; }}
</style>
</head>
<body>
<h1>{title}</h1>
<p class="text">{text}</p>
<p>The redder, the more surprising; point at a token to see what was expected in its place.</p>
<table>
<thead><tr><th>came</th><th>probability</th><th>rank</th><th>bits</th>{ranks}</tr></thead>
<tbody>
{rows}
</tbody>
</table>
</body>
</html>
"""


def save_prediction_page(opening: str, rows: Sequence[Row], title: str, path: Path) -> None:
    """One file without scripts; `opening`: the text's beginning, which nothing was expected of."""
    came = [row for row in rows if row.token is not None]
    top = len(rows[0].expected)
    page = _PAGE.format(
        title=escape(title),
        text=escape(opening) + "".join(_word(row) for row in came),
        ranks="".join(f"<th>{place + 1}</th>" for place in range(top)),
        rows="\n".join(_line(row) for row in rows),
    )
    save_page(page, path)


def _word(row: Row) -> str:
    """A token of the text in its colour, with what was expected as a hint."""
    strength = min(1.0, (row.surprisal or 0.0) / _DARKEST)
    hint = ", ".join(f"{readable(name)} {share:.1%}" for name, share in row.expected)
    style = f"background: rgba(214, 39, 40, {strength:.2f})"
    return f'<span style="{style}" title="{escape(hint)}">{escape(row.token or "")}</span>'


def _line(row: Row) -> str:
    cells = [
        f'<td class="token">{escape(readable(row.token)) if row.token is not None else "?"}</td>',
        f"<td>{'' if row.probability is None else f'{row.probability:.2%}'}</td>",
        f"<td>{'' if row.rank is None else f'{row.rank:,}'}</td>",
        f"<td>{'' if row.surprisal is None else f'{row.surprisal:.2f}'}</td>",
    ]
    for place, (name, share) in enumerate(row.expected):
        kind = "token came" if row.rank == place + 1 else "token"
        style = f"background: rgba(31, 119, 180, {0.8 * share:.2f})"
        cells.append(
            f'<td class="{kind}" style="{style}">{escape(readable(name))} {share:.1%}</td>'
        )
    return f"<tr>{''.join(cells)}</tr>"
