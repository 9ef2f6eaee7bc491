import pytest

from landmark.core.errors import UserError
from landmark.core.registry import Registry, nearest


def fruit() -> Registry[int]:
    registry: Registry[int] = Registry("fruit")
    for number, name in enumerate(["apple", "apricot", "banana"]):
        registry.add(name, number)
    return registry


def test_entries_are_found_by_their_exact_name() -> None:
    registry = fruit()
    assert registry["banana"] == 2
    assert list(registry) == ["apple", "apricot", "banana"]
    assert list(registry.values()) == [0, 1, 2]
    assert len(registry) == 3
    assert "apple" in registry
    assert "appl" not in registry


def test_a_second_entry_of_one_name_is_refused_and_the_first_stays() -> None:
    registry = fruit()
    with pytest.raises(ValueError, match="'apple' is registered twice"):
        registry.add("apple", 9)
    assert registry["apple"] == 0


def test_an_unknown_name_suggests_the_near_ones() -> None:
    with pytest.raises(UserError, match=r"unknown fruit 'aple': did you mean apple"):
        fruit()["aple"]


def test_a_name_like_none_lists_them_all() -> None:
    with pytest.raises(UserError, match="choose from: apple, apricot, banana"):
        fruit()["zzz"]


def test_an_empty_registry_says_so() -> None:
    with pytest.raises(UserError, match="there are none"):
        Registry("fruit")["apple"]


def test_the_nearest_comes_first() -> None:
    assert nearest("hiden_size", ["hidden_size", "inner_size"]).startswith(
        "did you mean hidden_size"
    )
