import random

import pytest
from sgfmill import sgf

from benchmarks.go_agreement import fuzz_sgf, judge
from landmark.core.errors import ItemError, UserError
from landmark.go.record.expert import NUM_EXPERT_GAMES, expert_games, expert_source
from landmark.go.record.game import GameRecord, RecordedMove
from landmark.go.record.reader import RawGame, parse_game, read_game, read_games, split_games
from landmark.go.record.sampled import sampled_comment, sampled_moves
from landmark.go.record.writer import record_of, write_game
from landmark.go.rules.geometry import BLACK, PASS, WHITE, column_of, row_of
from landmark.go.rules.position import Move, Position
from tests.go.boards import point

GAME = (
    "(;GM[1]FF[4]CA[UTF-8]SZ[9]KM[6.5]PB[Ann \\] (x]PW[Bea]RE[W+R]C[begin]"
    ";B[ee]C[the centre];W[cc](;B[gc];W[gg])(;B[cg];W[]))"
)


def read(text: str | bytes, variations: bool = False) -> list[GameRecord]:
    content = text.encode() if isinstance(text, str) else text
    return [
        game for raw in split_games(content, "file.sgf") for game in parse_game(raw, variations)
    ]


def test_a_game_is_read_with_its_names_and_comments():
    (game,) = read(GAME)
    assert (game.size, game.komi, game.black, game.white) == (9, 6.5, "Ann ] (x", "Bea")
    assert game.winner == WHITE
    assert game.comment == "begin"
    assert [move.comment for move in game.moves] == ["the centre", "", "", ""]
    assert [move.colour for move in game.moves] == [BLACK, WHITE, BLACK, WHITE]
    assert game.moves[0].point == point("E5")
    assert game.moves[1].point == point("C7")


def test_every_line_of_a_game_with_variations_is_read():
    main, other = read(GAME, variations=True)
    assert main.moves[:2] == other.moves[:2]
    assert other.moves[3].point == PASS


@pytest.mark.parametrize("separator", ["\n", "", " text between \n\n"])
def test_files_of_many_games_are_split(separator):
    games = read(separator.join([GAME] * 3))
    assert len(games) == 3
    assert [game.place for game in read("\n".join([GAME] * 3))] == [
        f"file.sgf:{number}: game {number}" for number in (1, 2, 3)
    ]


def test_a_game_that_does_not_close_costs_only_itself(tmp_path):
    path = tmp_path / "games.sgf"
    path.write_text("\n".join([GAME, "(;SZ[9];B[aa];W[b", GAME, "(;SZ[99])", GAME]))
    warnings: list[str] = []
    games = list(read_games([path], warnings.append))
    assert len(games) == 3
    assert len(warnings) == 2
    assert ":2: game 2" in warnings[0]
    assert ":4: game 4" in warnings[1]
    with pytest.raises(ItemError, match="game 2"):
        list(read_games([path], warnings.append, strict=True))


@pytest.mark.parametrize("encoding", ["utf-8", "gb18030", "shift_jis", "latin-1"])
@pytest.mark.parametrize("declared", [True, False])
def test_names_are_read_in_their_encoding(encoding, declared):
    name = {"gb18030": "柯洁", "shift_jis": "井山裕太", "latin-1": "Gérard"}.get(encoding, "이세돌")
    charset = f"CA[{encoding}]" if declared else ""
    (game,) = read(f"(;SZ[9]{charset}PB[{name}];B[ee])".encode(encoding))
    if declared or encoding in ("utf-8", "gb18030"):
        assert game.black == name
    assert game.moves[0].point == point("E5")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(;SZ[9];B[ee];W[ee])", "move 2, white E5, is illegal: occupied"),
        ("(;SZ[9];B[zz])", "game 1"),
        ("(;SZ[25];B[aa])", "a board of 25"),
        ("(;GM[2]SZ[9])", "is not Go"),
        ("(;SZ[9];B[aa];AB[bb])", "in the middle of the game"),
        ("(;SZ[x])", "game 1"),
    ],
)
def test_faults_are_named_with_their_place(tmp_path, text, message):
    path = tmp_path / "bad.sgf"
    path.write_text(text)
    warnings: list[str] = []
    assert list(read_games([path], warnings.append)) == []
    assert len(warnings) == 1
    assert message in warnings[0]
    assert str(path) in warnings[0]


def test_folders_are_read_with_the_folders_below(tmp_path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "a.sgf").write_text(GAME)
    (tmp_path / "inner" / "b.SGF").write_text(GAME)
    (tmp_path / "notes.txt").write_text("no game")
    assert len(list(read_games([tmp_path], print))) == 2
    with pytest.raises(UserError, match="no such file"):
        list(read_games([tmp_path / "missing"], print))


def test_handicap_and_setup_are_kept():
    (game,) = read("(;SZ[9]HA[2]KM[0.5]AB[cg][gc];W[ee])")
    position = game.replay()
    assert position.handicap == 2
    assert position.colour_at(point("C3")) == BLACK
    assert game.to_move == WHITE
    (game,) = read("(;SZ[9]AB[aa]AW[bb]PL[W];W[ee])")
    assert game.replay().handicap == 0


def random_game(seed: int, size: int) -> Position:
    rng, position = random.Random(seed), Position(size, komi=5.5)
    for _ in range(2 * size * size):
        choices = position.legal_moves(position.to_move)
        position.play(position.to_move, rng.choice(choices) if choices else PASS)
    return position


@pytest.mark.parametrize("size", [3, 9, 19])
def test_what_is_written_is_read_back_by_us_and_by_sgfmill(size):
    position = random_game(size, size)
    written = write_game(record_of(position, "Ann", "Bea", "B+0.5"))
    (game,) = read(written)
    assert [Move(move.colour, move.point) for move in game.moves] == position.moves
    assert game.replay().diagram() == position.diagram()
    assert (game.komi, game.black, game.result) == (5.5, "Ann", "B+0.5")
    other = sgf.Sgf_game.from_bytes(written)
    moves = [node.get_move() for node in other.get_main_sequence()[1:]]
    assert moves == [
        (" bw"[m.colour], None if not m.point else (size - 1 - row_of(m.point), column_of(m.point)))
        for m in position.moves
    ]


def test_variations_and_comments_are_written():
    line = (Move(BLACK, point("C3")), Move(WHITE, point("G7")))
    moves = (
        RecordedMove(BLACK, point("E5"), "first", (line,), ("better",)),
        RecordedMove(WHITE, point("C7")),
    )
    written = write_game(GameRecord(size=9, moves=moves))
    main, other = read(written, variations=True)
    assert main.moves[0].comment == "first"
    assert [move.point for move in other.moves] == [point("C3"), point("G7")]
    assert other.moves[0].comment == "better"


def test_mutated_files_never_crash_the_reader():
    counts = fuzz_sgf(5000)
    assert counts["files"] == 5000
    assert min(counts["read"], counts["refused"]) > 1000


def test_nesting_without_end_is_refused_or_read():
    deep = b"(;SZ[9]" + b"(;B[aa]" * 3000 + b")" * 3001
    assert judge(RawGame(deep, "deep")) in ("read", "refused")


def test_the_first_game_of_a_file_is_read(tmp_path):
    (tmp_path / "one.sgf").write_text(GAME)
    assert read_game(tmp_path / "one.sgf").white == "Bea"
    (tmp_path / "none.sgf").write_text("nothing")
    with pytest.raises(UserError, match="no game in it"):
        read_game(tmp_path / "none.sgf")


def test_the_embedded_games_are_all_there_and_legal():
    games = list(expert_games())
    assert len(games) == NUM_EXPERT_GAMES
    assert {(game.size, game.komi, game.handicap) for game in games} == {(9, 7.0, 0)}
    estimates = [move.estimate for game in games for move in game.moves]
    assert 0.9 < sum(estimate is not None for estimate in estimates) / len(estimates) < 1
    for game in games[::500]:
        game.replay()
        for number in sampled_moves(game):
            assert game.moves[number].estimate is None
    assert "MIT" in expert_source()


def test_estimates_and_sampled_moves_are_written_and_read_back():
    moves = (
        RecordedMove(BLACK, point("E5")),
        RecordedMove(WHITE, point("C7"), estimate=-1.5),
        RecordedMove(BLACK, PASS, "done", estimate=0.0),
    )
    game = GameRecord(size=9, moves=moves, game_comment=sampled_comment(1, [2]))
    (again,) = read(write_game(game))
    assert again.moves == moves
    assert sampled_moves(again) == {0, 2}
    assert sampled_moves(GameRecord(game_comment="a game")) == set()
    assert sampled_moves(GameRecord(game_comment="sampled=3")) == {0, 1, 2}
