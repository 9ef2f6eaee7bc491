"""Overrides that choose settings of another kind take the former kind's keys away."""

import dataclasses
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from landmark.core.choice import follow_choices
from landmark.core.configuration import (
    Provenance,
    as_values,
    build,
    default_key,
    override,
    settings,
)
from landmark.core.errors import UserError


@settings
class Mast:
    height: float = 10.0


@settings
class Petrol:
    fuel: Literal["petrol"] = "petrol"
    octane: int = 95


@settings
class Diesel:
    fuel: Literal["diesel"] = "diesel"
    sulphur: float = 0.1


@settings
class Sail:
    kind: Literal["sail"] = "sail"
    crew: int = 2
    weight: float = 20.0
    colours: tuple[str, ...] = ("white", "red")
    part: Mast = dataclasses.field(default_factory=Mast)
    area: float = 30.0


@settings
class Motor:
    kind: Literal["motor"] = "motor"
    crew: int = 1
    weight: float = 90.0
    colours: tuple[str, ...] = ("grey",)
    part: Annotated[Petrol | Diesel, Field(discriminator="fuel"), default_key("fuel", "petrol")] = (
        dataclasses.field(default_factory=Petrol)
    )
    power: float = 5.0


@settings
class Boat:
    drive: Annotated[Sail | Motor, Field(discriminator="kind"), default_key("kind", "sail")] = (
        dataclasses.field(default_factory=Sail)
    )


@settings
class Harbour:
    boat: Boat = dataclasses.field(default_factory=Boat)
    name: str = "north"


def changed(config: Harbour | dict[str, Any], *overrides: str) -> Harbour:
    values = config if isinstance(config, dict) else as_values(config)
    origin = Provenance("recipe harbour")
    after = override(values, overrides, origin)
    given = override({}, overrides, Provenance("given"))
    return build(Harbour, follow_choices(Harbour, values, after, given), origin)


def harbour(drive: Sail | Motor) -> Harbour:
    return Harbour(boat=Boat(drive=drive), name="south")


def test_what_a_recipe_had_set_stays_where_the_new_choice_knows_it() -> None:
    found = changed(harbour(Sail(crew=7, area=9.0)), "boat.drive.kind=motor")
    assert found == harbour(Motor(crew=7))  # weight and colours: the motor's own defaults
    back = changed(found, "boat.drive.kind=sail")
    assert back == harbour(Sail(crew=7))


def test_overrides_of_the_new_choice_hold_in_any_order() -> None:
    for overrides in (
        ("boat.drive.kind=motor", "boat.drive.power=8", "boat.drive.weight=20"),
        ("boat.drive.power=8", "boat.drive.weight=20", "boat.drive.kind=motor"),
        ("boat={drive: {kind: motor}}", "boat.drive.power=8", "boat.drive.weight=20"),
    ):
        assert changed(harbour(Sail()), *overrides) == harbour(Motor(power=8, weight=20))


def test_an_override_that_the_new_choice_does_not_know_is_an_error() -> None:
    with pytest.raises(UserError, match=r"override 'boat.drive.area=3': unknown key"):
        changed(harbour(Sail(area=9.0)), "boat.drive.area=3", "boat.drive.kind=motor")


def test_the_same_choice_by_name_changes_nothing() -> None:
    start = harbour(Sail(crew=7, area=9.0))
    assert changed(start, "boat.drive.kind=sail") == start
    assert changed(start, "name=east").boat == start.boat


def test_a_choice_inside_a_choice() -> None:
    start = harbour(Motor(part=Petrol(octane=98), crew=3))
    found = changed(start, "boat.drive.part.fuel=diesel")
    assert found == harbour(Motor(part=Diesel(), crew=3))
    # settings of one name, of which the two choices have different kinds, do not carry over
    assert changed(start, "boat.drive.kind=sail") == harbour(Sail(crew=3))


def test_a_file_need_not_name_the_default_choice() -> None:
    values = {"boat": {"drive": {"area": 9.0, "crew": 7}}}
    assert changed(values, "boat.drive.kind=motor").boat.drive == Motor(crew=7)
    assert changed({}, "boat.drive.kind=motor").boat.drive == Motor()


def test_an_unknown_choice_is_named() -> None:
    with pytest.raises(UserError, match="'oars' is none of sail, motor"):
        changed(harbour(Sail()), "boat.drive.kind=oars")
