import pytest

from landmark.core.errors import UserError
from landmark.go.clock import LAG, Clock, TimeControl, expected_moves, limit_of
from landmark.go.search.searcher import Limit


def test_absolute_time_is_spread_over_the_moves_to_come():
    clock = Clock.of(TimeControl("absolute", main=60))
    reserve = 10 * LAG
    assert clock.seconds_for_move(30) == pytest.approx((60 - reserve) / 30 - LAG)
    assert clock.after(50).seconds_for_move(30) == pytest.approx((10 - reserve) / 30 - LAG)
    assert clock.after(80).seconds_for_move(30) == pytest.approx(0.01)


def test_a_game_in_absolute_time_never_runs_out():
    clock, played = Clock.of(TimeControl("absolute", main=30)), 0
    for number in range(0, 120, 2):
        spent = clock.seconds_for_move(expected_moves(9, number)) + LAG / 2
        clock, played = clock.after(spent), played + 1
    assert played == 60
    assert clock.left > 0


def test_canadian_byo_yomi_shares_a_period_among_its_stones():
    clock = Clock.of(TimeControl("canadian", main=0, period=30, stones=10))
    assert clock.seconds_for_move(20) == pytest.approx(3 - LAG)
    clock = clock.after(12)
    assert (clock.left, clock.stones_left) == (18, 9)
    for _ in range(9):
        clock = clock.after(1)
    assert (clock.left, clock.stones_left) == (30, 10)


def test_japanese_periods_are_lost_only_when_they_run_out():
    clock = Clock.of(TimeControl("japanese", main=10, period=5, stones=3))
    assert clock.stones_left == 0
    clock = clock.after(12)
    assert clock.stones_left == 3
    assert clock.seconds_for_move(20) == pytest.approx(5 - LAG)
    assert clock.after(4.9).stones_left == 3
    assert clock.after(5.5).stones_left == 2
    assert clock.after(50).stones_left == 1


def test_what_the_controller_says_counts():
    clock = Clock.of(TimeControl("canadian", main=60, period=30, stones=10)).set_left(20, 4)
    assert clock.seconds_for_move(20) == pytest.approx(5 - LAG)


def test_without_a_clock_the_default_limit_holds():
    default = Limit(simulations=77)
    assert limit_of(Clock(), default, 20) is default
    absolute = limit_of(Clock.of(TimeControl("absolute", main=60)), default, 20)
    assert absolute.simulations == 77
    assert absolute.seconds is not None


def test_times_out_of_range_are_refused():
    with pytest.raises(UserError, match="out of range"):
        TimeControl("absolute", main=-1)
