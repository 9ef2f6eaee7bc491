import io
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks.go_agreement import fuzz_gtp, rules_against_gnu_go, scores_against_gnu_go
from landmark.go.gtp.controller import Controller
from landmark.go.gtp.program import StreamLines, build_handlers, serve
from landmark.go.gtp.protocol import ListedLines, Server, parse_command
from landmark.go.gtp.session import Session
from landmark.go.player import Player
from landmark.go.rules.geometry import BLACK, WHITE, vertex
from landmark.go.rules.handicap import handicap_points
from landmark.go.search.parameters import SearchSettings
from landmark.go.search.searcher import Limit, Searcher

OURS = [sys.executable, "-m", "landmark", "go", "gtp", "--simulations", "100"]


def new_session(simulations: int = 50) -> Session:
    searcher = Searcher(SearchSettings(max_nodes=100_000))
    return Session(Player(searcher), Limit(simulations=simulations))


def talk(*lines: str, session: Session | None = None) -> list[str]:
    """The answers to commands, without the empty lines after them."""
    output = io.StringIO()
    serve(session or new_session(), ListedLines(lines), output)
    text = output.getvalue()
    assert text.endswith("\n\n") or not text
    return text.split("\n\n")[:-1]


def test_commands_are_read_as_the_specification_says():
    assert parse_command("12 play b D4\t # comment\r\n") == ("12", "play", ["b", "D4"])
    assert parse_command("pl\x07ay\tw  pass") == ("", "play", ["w", "pass"])
    assert parse_command("  # nothing but a comment") is None
    assert parse_command("\x00\n") is None


def test_a_session_is_answered_line_by_line():
    answers = talk(
        "1 protocol_version", "boardsize 9", "komi 6.5", "play b E5", "play white D4",
        "7 play black E5", "play b", "play b Z9", "nonsense", "8 get_komi", "known_command undo",
        "known_command nonsense", "undo", "play w C3", "undo", "undo", "undo", "boardsize 40",
        "captures b", "name", "quit", "name",
    )  # fmt: skip
    assert answers == [
        "=1 2", "=", "=", "=", "=",
        "?7 illegal move", "? syntax error: 2 arguments are needed, 1 are given",
        "? syntax error: 'Z9' is not a vertex of this board", "? unknown command", "=8 6.5",
        "= true", "= false", "=", "=", "=", "=", "? cannot undo", "? unacceptable size",
        "= 0", "= Landmark", "=",
    ]  # fmt: skip


def test_the_same_colour_may_move_twice():
    session = new_session()
    answers = talk("play b C3", "play b D3", "genmove b", session=session)
    assert answers[:2] == ["=", "="]
    assert answers[2][2:]
    assert len(session.position.stones(BLACK)) == 3


def test_a_move_is_generated_and_played_and_reg_genmove_plays_none():
    session = new_session()
    (named,) = talk("reg_genmove b", session=session)
    assert session.position.num_moves == 0
    (played,) = talk("genmove b", session=session)
    assert named[2:]
    assert vertex(session.position.moves[0].point, 9) == played[2:]


@pytest.mark.parametrize(
    ("size", "stones", "names"),
    [
        (9, 2, "C3 G7"),
        (9, 5, "C3 G7 C7 G3 E5"),
        (19, 9, "D4 Q16 D16 Q4 D10 Q10 K16 K4 K10"),
        (13, 4, "D4 K10 D10 K4"),
        (7, 4, "C3 E5 C5 E3"),
    ],
)
def test_handicap_stones_stand_where_the_specification_puts_them(size, stones, names):
    assert {vertex(p, size) for p in handicap_points(size, stones)} == set(names.split())


def test_handicap_commands():
    session = new_session()
    answers = talk(
        "fixed_handicap 3", "fixed_handicap 2", "clear_board", "place_free_handicap 4",
        "clear_board", "set_free_handicap A1 B2", "clear_board", "set_free_handicap A1",
        "set_free_handicap A1 A1", "fixed_handicap 10", "place_free_handicap 1",
        session=session,
    )  # fmt: skip
    assert answers[0] == "= C3 G7 C7"
    assert answers[1] == "? board not empty"
    assert answers[3] == "= C3 G7 C7 G3"
    assert answers[5] == "="
    assert [answer[0] for answer in answers[7:]] == ["?"] * 4


def test_handicap_can_be_undone():
    session = new_session()
    talk("fixed_handicap 3", "undo", session=session)
    assert session.position.handicap == 0
    assert not session.position.stones(BLACK)


FINISHED = ("boardsize 5", "komi 0.5", *(f"play b {c}3" for c in "ABCDE"),
            *(f"play w {c}2" for c in "ABCDE"), "play w B4", "play b B5", "play b pass",
            "play w pass")  # fmt: skip


def test_dead_stones_are_listed_and_counted():
    answers = talk(*FINISHED, "final_status_list dead", "final_score", "final_status_list alive",
                   "final_status B4", "final_status A5", "final_status_list seki",
                   "final_status_list odd")  # fmt: skip
    assert answers[-7] == "= B4"
    assert answers[-6] == "= B+4.5"
    assert "B4" not in answers[-5]
    assert answers[-4:-1] == ["= dead", "= black_territory", "="]
    assert answers[-1].startswith("?")


def test_dead_stones_are_searched_once_a_position_by_playouts_alone(monkeypatch):
    class Network:
        """A search that must not be asked."""

        board_size = None

        def forget(self):
            return

    searched = []
    search = Searcher.search
    monkeypatch.setattr(Searcher, "search", lambda *words: searched.append(1) or search(*words))
    session = Session(Player(Network()), Limit(simulations=1))
    talk(*FINISHED, "final_score", "final_status_list dead", "final_status B4", session=session)
    assert len(searched) == 1
    talk("undo", "final_score", "komi 7", "final_score", "final_score", session=session)
    assert len(searched) == 3


def test_cleanup_captures_dead_stones_before_it_passes():
    session = new_session(simulations=300)
    talk(*FINISHED[:-2], session=session)
    moves = []
    while "= pass" not in moves and len(moves) < 8:
        moves += talk("kgs-genmove_cleanup b", "play w pass", session=session)[:1]
    assert moves[-1] == "= pass"
    assert len(moves) > 2
    assert "B4" not in talk("list_stones w", session=session)[0].split()


def test_games_are_loaded_and_printed(tmp_path):
    session = new_session()
    (printed,) = talk("printsgf", session=session)
    talk("play b E5", "play w C3", "play b G7", session=session)
    (printed,) = talk("printsgf", session=session)
    path = tmp_path / "game.sgf"
    path.write_text(printed[2:])
    again = new_session()
    assert talk(f"loadsgf {path}", session=again) == ["="]
    assert again.position.moves == session.position.moves
    talk(f"loadsgf {path} 2", session=again)
    assert len(again.position.moves) == 1
    assert again.position.to_move == WHITE
    for name in ("missing.sgf", str(tmp_path), "/dev/null"):
        assert talk(f"loadsgf {name}", session=again) == ["? cannot load file"]


@pytest.mark.parametrize("command", ["lz-analyze", "kata-analyze"])
def test_analysis_streams_until_the_next_command(command):
    lines = Delayed([f"5 {command} b 10", "name"], wait=0.5)
    output = io.StringIO()
    Server(build_handlers(new_session()), lines, output).serve()
    first, second = output.getvalue().split("\n\n")[:2]
    assert first.startswith("=5\ninfo move ")
    assert len(first.splitlines()) > 3
    words = first.splitlines()[1].split()
    assert {"visits", "winrate", "prior", "order", "pv"} <= set(words)
    assert second == "= Landmark"


class Delayed:
    """Lines that come one after the other, each so many seconds after it was first looked for."""

    def __init__(self, lines: list[str], wait: float) -> None:
        self.lines, self.wait, self.since = lines, wait, 0.0

    def next(self) -> str | None:
        self.since = 0.0
        return self.lines.pop(0) if self.lines else None

    def is_waiting(self) -> bool:
        self.since = self.since or time.monotonic()
        return time.monotonic() - self.since > self.wait


@pytest.mark.parametrize("command", ["lz-genmove_analyze", "kata-genmove_analyze"])
def test_a_move_may_be_analysed_while_it_is_searched(command):
    session = new_session(simulations=3000)
    (answer,) = talk(f"{command} b interval 1 ownership true", session=session)
    *_, last = answer.splitlines()
    assert last == f"play {vertex(session.position.moves[0].point, 9)}"


def test_time_settings_limit_the_next_move():
    session = new_session()
    talk("time_settings 0 3 10", "time_left w 1 2", session=session)
    assert session.limit(BLACK).seconds == pytest.approx(0.15)
    assert session.limit(WHITE).seconds == pytest.approx(0.35)
    talk("kgs-time_settings byoyomi 0 5 3", session=session)
    assert session.limit(BLACK).seconds == pytest.approx(4.85)
    talk("time_settings 0 1 0", session=session)
    assert session.limit(BLACK).seconds is None
    wrong = talk("kgs-time_settings odd", "time_settings 1 2", "time_left b x 1")
    assert [answer[0] for answer in wrong] == ["?"] * 3


def test_lines_of_nonsense_never_end_it():
    counts = fuzz_gtp(2000)
    assert counts["accepted"] + counts["refused"] > 1900
    assert min(counts["accepted"], counts["refused"]) > 300


def test_no_byte_of_a_controller_ends_it():
    sent = b"name\n1 p\xff\xc3lay\nboard\rsize 5\n2 play b \xe9A1\nquery_boardsize\n3 name\n"
    strict = {**os.environ, "PYTHONIOENCODING": "ascii:strict"}
    done = subprocess.run(OURS, input=sent, capture_output=True, check=True, env=strict)
    answers = done.stdout.decode().split("\n\n")
    assert [answer[:2] for answer in answers] == ["= ", "?1", "=", "?2", "? ", "=3", ""]


def test_the_end_of_a_long_line_is_no_command_of_its_own():
    lines = StreamLines(io.StringIO("1 name " + "name " * 50_000 + "\n2 name\n"))
    assert [(lines.next() or "")[:6] for _ in range(3)] == ["1 name", "2 name", ""]


def test_an_output_that_is_closed_ends_it():
    class Closed(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    serve(new_session(), ListedLines(["name"] * 5), Closed())


def test_the_command_speaks_gtp_and_ends_with_its_controller():
    with Controller(OURS) as controller:
        assert controller.send("name") == "Landmark"
        controller.send("boardsize 5")
        assert controller.send("genmove b", 120)
        assert "\n" in controller.send("showboard")
    done = subprocess.run(OURS, input="name\n", capture_output=True, text=True, check=True)
    assert done.stdout == "= Landmark\n\n"


SABAKI = """
const {Controller} = require('@sabaki/gtp');
const [program, ...words] = process.argv.slice(2);
async function main() {
  const controller = new Controller(program, words);
  controller.start();
  const send = async (name, args = []) => {
    const answer = await controller.sendCommand({name, args});
    console.log(name, answer.error, answer.content.split('\\n').length > 1 || answer.content);
  };
  await send('name');
  await send('list_commands');
  await send('boardsize', ['9']);
  await send('play', ['B', 'E5']);
  await send('play', ['B', 'E5']);
  let lines = 0;
  const analysis = controller.sendCommand({name: 'kata-analyze', args: ['W', '10']},
    ({line}) => { lines += line.startsWith('info'); });
  await new Promise(done => setTimeout(done, 1500));
  await send('undo');
  await analysis;
  console.log('streamed', lines > 2);
  await controller.stop();
}
main().catch(error => { console.log(String(error)); process.exit(1); });
"""


def test_sabakis_library_drives_it(tmp_path, needs_program):
    needs_program("node", "nodejs")
    needs_program("npm", "npm")
    npm, node = shutil.which("npm"), shutil.which("node")
    assert npm
    assert node
    done = subprocess.run(
        [npm, "install", "--silent", "@sabaki/gtp"],
        cwd=tmp_path,
        capture_output=True,
        timeout=120,
        check=False,
    )
    if done.returncode:
        stop = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        stop("npm cannot install @sabaki/gtp")
    (tmp_path / "drive.js").write_text(SABAKI)
    result = subprocess.run(
        [node, "drive.js", *OURS], cwd=tmp_path, capture_output=True, text=True, timeout=240,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )  # fmt: skip
    assert result.stdout.splitlines() == [
        "name false Landmark",
        "list_commands false true",
        "boardsize false ",
        "play false ",
        "play true illegal move",
        "undo false ",
        "streamed true",
    ], result.stderr


def test_legality_and_captures_are_gnu_gos(needs_program):
    needs_program("gnugo", "gnugo")
    assert rules_against_gnu_go(50)["positions"] == 6000


def test_finished_games_are_counted_as_gnu_go_counts_them(needs_program):
    needs_program("gnugo", "gnugo")
    for position, ours, theirs in scores_against_gnu_go(6):
        assert ours == theirs, position.diagram()


def test_lines_are_read_ahead_by_a_thread():
    lines = StreamLines(io.StringIO("one\ntwo\n"))
    assert [lines.next(), lines.next(), lines.next()] == ["one\n", "two\n", None]
