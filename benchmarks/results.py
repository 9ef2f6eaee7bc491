"""Make docs/results.md, and the tables in README and other pages, from docs/results.toml.

    python benchmarks/results.py              # after an edit of docs/results.toml
    python benchmarks/results.py --figure     # docs/figures/speed.png and strip.png, too

A page gets a table between `<!-- results: WHAT -->` and `<!-- end -->`. WHAT is `systems` (one row
a system), `speed` (ratios against peers) or names of rows. tests/test_docs.py holds all up to date.
"""

import argparse
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
FIGURES = ROOT / "docs" / "figures"
NOT_YET = "not yet run"
_MARKED = re.compile(r"(<!-- results: (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)
_HEAD = """# Results: every measurement, with what it took

How good is each system here, on which data, beside which published figure, and which command
shows it again?

```
landmark train lenet5-mnist && landmark evaluate runs/lenet5-mnist
```

Machines had two cores and no GPU. Where one thread is named, the other core mostly did other work,
so minutes say what a training takes on a busy machine. Brackets and ± are intervals of 95 %.
Results on the embedded corpus are of generated language: they show that the machinery works, and
say nothing about real German.

This page is made by `python benchmarks/results.py` from [results.toml](results.toml). Experiments,
and what did not help, are in [experiments.md](experiments.md).
"""

Row = Mapping[str, Any]


def read() -> dict[str, list[Row]]:
    with (ROOT / "docs" / "results.toml").open("rb") as file:
        return tomllib.load(file)


def pages(data: Mapping[str, list[Row]]) -> dict[Path, str]:
    """Every page that shows results, as it should be."""
    made = {ROOT / "docs" / "results.md": _results_page(data)}
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        text = path.read_text(encoding="utf-8")
        if path not in made and _MARKED.search(text):
            made[path] = _fill(text, data, "docs/" if path.name == "README.md" else "")
    return made


def _fill(text: str, data: Mapping[str, list[Row]], folder: str) -> str:
    """A page with its tables made anew; links in them are seen from `folder`."""

    def table(match: re.Match[str]) -> str:
        lines = _wanted(match[2], data)
        linked = (re.sub(r"\]\((?!http)", f"]({folder}", line) for line in lines)
        return match[1] + "\n".join(linked) + "\n" + match[3]

    return _MARKED.sub(table, text)


def _wanted(names: str, data: Mapping[str, list[Row]]) -> list[str]:
    if names == "systems":
        return _systems(data["result"])
    if names == "speed":
        return _speed(data["speed"])
    by_name = {row["name"]: row for row in data["result"]}
    return _short(by_name[name] for name in names.split(", "))


def _systems(rows: Iterable[Row]) -> list[str]:
    """README's table: one row a system."""
    lines = _heading("system", "year", "command", "on", "result", "published", "minutes (threads)")
    for row in rows:
        if "on" in row:
            cells = (row["system"], row["year"], f"`{row['commands'][0]}`", row["on"])
            lines.append(_line(*cells, _figure(row), row.get("published", ""), _minutes(row)))
    return lines


def _short(rows: Iterable[Row]) -> list[str]:
    """The table of a docs page."""
    lines = _heading("recipe", "data", "result", "published", "parameters", "minutes (threads)")
    for row in rows:
        cells = (f"`{row['name']}`", row["data"], _result(row), row.get("published", ""))
        lines.append(_line(*cells, _count(row), _minutes(row)))
    return lines


def _speed(rows: Iterable[Row]) -> list[str]:
    """README's table of speed: the ratios that stand in its figure."""
    lines = _heading("task", "times as fast as", "threads")
    for row in rows:
        front = [ratio for ratio in row["ratios"] if ratio.get("front")]
        times = ", ".join(f"{ratio['peer']} **{ratio['ratio']:.2f}**" for ratio in front)
        if front:
            lines.append(_line(row["task"], times, front[0]["threads"]))
    return lines


def _results_page(data: Mapping[str, list[Row]]) -> str:
    parts = [_HEAD]
    sections = dict.fromkeys(row["section"] for row in data["result"])
    for section in sections:
        rows = [row for row in data["result"] if row["section"] == section]
        parts.append("\n".join([f"## {section}", "", *_long(rows), "", *_commands(rows)]))
    parts.append("\n".join(["## Speed", "", *_all_speed(data["speed"])]))
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _long(rows: Iterable[Row]) -> list[str]:
    lines = _heading(
        "system", "recipe", "data and split", "result", "published", "parameters", "minutes",
        "threads", "seed", "date",
    )  # fmt: skip
    for row in rows:
        cells = (row["system"], f"`{row['name']}`", row["data"], _result(row))
        rest = (row.get(key, "") for key in ("minutes", "threads", "seed", "date"))
        lines.append(_line(*cells, row.get("published", ""), _count(row), *rest))
    return lines


def _commands(rows: Iterable[Row]) -> Iterator[str]:
    """Under the table: each row's settings and commands."""
    for row in rows:
        commands = ", ".join(f"`{command}`" for command in row["commands"])
        settings = f" {row['settings']}." if "settings" in row else ""
        yield f"- **{row['name']}**:{settings} {commands}"


def _all_speed(rows: Iterable[Row]) -> Iterator[str]:
    yield "How many times as fast as the peer, both on the same machine in the same run."
    yield ""
    yield from _heading("task", "against", "threads", "times as fast")
    rows = list(rows)
    for row in rows:
        for ratio in row["ratios"]:
            times = f"**{ratio['ratio']:.2f}**"
            yield _line(row["task"], ratio["peer"], ratio["threads"], times)
    yield ""
    for row in rows:
        ours = f"ours {row['ours']} ({row['unit']})"
        yield f"- **{row['task']}**: {ours}. {row['settings']}; {row['date']}. `{row['command']}`"


def _heading(*names: str) -> list[str]:
    return [_line(*names), "|" + "---|" * len(names)]


def _line(*cells: object) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"


def _figure(row: Row) -> str:
    if "figure" not in row:
        return NOT_YET
    words = (row.get("metric"), f"**{row['figure']}**", row.get("unit"))
    return " ".join(word for word in words if word)


def _result(row: Row) -> str:
    return "; ".join([_figure(row), *([row["more"]] if "more" in row else [])])


def _count(row: Row) -> str:
    count = row.get("parameters", "")
    return f"{count:,}" if isinstance(count, int) else count


def _minutes(row: Row) -> str:
    threads = f" ({row['threads']})" if "threads" in row else ""
    return f"{row['minutes']}{threads}" if "minutes" in row else ""


def draw_speed(rows: Iterable[Row]) -> None:
    """docs/figures/speed.png: a bar a peer, a colour a task."""
    from landmark.figures.style import colour, panels, tidy

    bars = [
        (n, row["task"], r) for n, row in enumerate(rows) for r in row["ratios"] if "front" in r
    ]
    figure, axes = panels(size=(8.2, 0.32 * len(bars) + 0.9))
    panel = axes[0, 0]
    for place, (number, task, ratio) in enumerate(bars):
        first = task not in [earlier for _, earlier, _ in bars[:place]]
        panel.barh(place, ratio["ratio"], color=colour(number), label=task if first else None)
        panel.text(ratio["ratio"] + 0.03, place, f"{ratio['ratio']:.2f}", va="center", fontsize=8)
    panel.set_yticks(range(len(bars)), [ratio["peer"].replace("`", "") for _, _, ratio in bars])
    panel.invert_yaxis()
    panel.axvline(1, color="0.3", linewidth=0.8)
    panel.set_xlabel("times as fast as the peer (1: equally fast)")
    panel.set_xlim(0, 1.6 + max(ratio["ratio"] for _, _, ratio in bars))
    tidy(panel)
    panel.legend(fontsize=7.5, frameon=False, loc="lower right")
    figure.savefig(FIGURES / "speed.png", dpi=150)


def draw_strip(height: int = 300) -> None:
    """docs/figures/strip.png: attention, next characters and kernels, side by side."""
    from PIL import Image

    names = ("alignments.png", "gpt-next.png", "flowers-kernels.png")
    panels = [Image.open(FIGURES / name).convert("RGB") for name in names]
    scaled = [p.resize((round(p.width * height / p.height), height)) for p in panels]
    gap = 24
    strip = Image.new(
        "RGB", (sum(p.width for p in scaled) + gap * (len(scaled) - 1), height), "white"
    )
    left = 0
    for panel in scaled:
        strip.paste(panel, (left, 0))
        left += panel.width + gap
    strip.save(FIGURES / "strip.png", optimize=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the pages of results of docs/results.toml.")
    parser.add_argument("--figure", action="store_true", help="draw speed.png and strip.png, too")
    figure = parser.parse_args().figure
    data = read()
    for path, text in pages(data).items():
        path.write_text(text, encoding="utf-8")
    if figure:
        draw_speed(data["speed"])
        draw_strip()


if __name__ == "__main__":
    main()
