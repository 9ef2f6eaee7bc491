import pytest

from landmark.decoding.stop_string import StopFilter


def through(stops: list[str], pieces: list[str]) -> tuple[list[str], bool]:
    """What comes out for each piece, the rest last; and whether it was stopped."""
    filtered = StopFilter(stops)
    shown = []
    for piece in pieces:
        shown.append(filtered.add(piece))
        if filtered.stopped:
            return shown, True
    return [*shown, filtered.finish()], False


@pytest.mark.parametrize(
    ("stops", "text", "expected"),
    [
        (["END"], "some text END more", "some text "),
        (["END"], "no such string", None),
        (["END"], "EN ENEND", "EN EN"),
        (["aab"], "aaab", "a"),
        (["\n\n", "."], "one\ntwo. three\n\nfour", "one\ntwo"),
        (["abcd", "bc"], "xabcd", "xa"),
        (["END"], "ends in EN", None),
        ([], "END", None),
    ],
)
def test_text_ends_before_the_first_stop_string(stops, text, expected):
    """However it is cut into pieces of up to three characters."""
    for size in (1, 2, 3):
        pieces = ["".join(part) for part in (text[n : n + size] for n in range(0, len(text), size))]
        shown, stopped = through(stops, pieces)
        if stops == ["abcd", "bc"] and size == 3:
            continue  # both strings are there at once: the earlier one counts
        assert "".join(shown) == (text if expected is None else expected)
        assert stopped == (expected is not None)


def test_of_strings_that_come_at_once_the_earlier_counts():
    assert through(["bc", "abcd"], ["xabcd"]) == (["x"], True)


def test_nothing_of_a_stop_string_is_shown_before_it_is_known_to_be_none():
    assert through(["END"], ["a", "E", "N", "x"]) == (["a", "", "", "ENx", ""], False)
    assert through(["END"], ["aE", "N", "Dx"]) == (["a", "", ""], True)
    assert through(["END"], ["E", "E", "N"]) == (["", "E", "", "EN"], False)
