import dataclasses
import math
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import yaml
from pydantic import Field

from landmark.core.configuration import (
    Provenance,
    as_values,
    as_yaml,
    build,
    default_key,
    documentation,
    fingerprint,
    override,
    read_yaml,
    settings,
)
from landmark.core.errors import UserError


@settings
class Engine:
    """The part that turns."""

    power: Annotated[float, Field(gt=0, le=500)] = 75.0
    """Kilowatts
    at the shaft."""
    fuel: Literal["petrol", "diesel"] = "petrol"
    """What it burns."""
    ratios: tuple[float, float] = (3.5, 0.9)
    cylinders: Annotated[int, Field(ge=1)] | None = None


@settings
class Car:
    name: str
    """What it is called."""
    doors: Annotated[int, Field(ge=0)] = 4
    engine: Engine = dataclasses.field(default_factory=Engine)
    spare: Engine | None = None
    extras: tuple[str, ...] = ()


def car(values: dict[Any, Any]) -> Car:
    return build(Car, {"name": "herbie"} | values, Provenance("recipe x"))


def refusal(values: dict[Any, Any]) -> str:
    with pytest.raises(UserError) as caught:
        car(values)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_values_become_nested_settings_with_defaults() -> None:
    built = car({"doors": 2, "engine": {"fuel": "diesel", "ratios": [1, 2]}, "extras": ["radio"]})
    assert built.doors == 2
    assert built.engine == Engine(fuel="diesel", ratios=(1.0, 2.0))
    assert built.engine.power == 75
    assert built.extras == ("radio",)


def test_settings_are_frozen_and_take_no_unknown_names() -> None:
    engine = Engine()
    with pytest.raises(dataclasses.FrozenInstanceError):
        engine.power = 1.0
    with pytest.raises(ValueError, match="powr"):
        Engine(powr=1.0)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"dors": 3}, "recipe x: unknown key 'dors': did you mean doors?"),
        ({"engine": {"powr": 3}}, "recipe x: unknown key 'engine.powr': did you mean power?"),
        ({"spare": {"powr": 3}}, "unknown key 'spare.powr': did you mean power?"),
        ({"engine": {"zzz": 1}}, "choose from: cylinders, fuel, power, ratios"),
        ({"doors": "many"}, "doors: Input should be a valid integer"),
        ({"doors": 2.5}, "doors: Input should be a valid integer"),
        ({"doors": -1}, "doors: Input should be greater than or equal to 0 (got -1)"),
        ({"engine": {"power": 501}}, "engine.power: Input should be less than or equal to 500"),
        ({"engine": {"fuel": "coal"}}, "engine.fuel: Input should be 'petrol' or 'diesel'"),
        ({"engine": {"ratios": [1.0]}}, "engine.ratios"),
        ({"engine": {"cylinders": 0}}, "engine.cylinders"),
        ({"engine": 7}, "engine: Input should be a dictionary"),
        ({"name": None}, "name: Input should be a valid string (got None)"),
        ({1: 2}, "1: Keys should be strings"),
    ],
)
def test_a_wrong_value_is_refused_by_its_name(values: dict[Any, Any], message: str) -> None:
    assert message in refusal(values)


def test_a_missing_key_is_named() -> None:
    with pytest.raises(UserError, match="recipe x: 'name' is missing"):
        build(Car, {}, Provenance("recipe x"))


def test_several_faults_are_counted() -> None:
    assert refusal({"doors": "x", "extras": 3, "dors": 1}).endswith("(and 2 more)")


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "car.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("name: a\nengine:\n  power: 1\n  fule: diesel\n", 4, "did you mean fuel?"),
        ("name: a\nengine:\n  power: -1\n", 3, "greater than 0"),
        ("name: a\n\n# so many\ndoors: x\n", 4, "valid integer"),
        ("name: a\nengine:\n  ratios: [1, x]\n", 3, "engine.ratios.1"),
        ("name: a\nengine: {power: 3,\n  fule: x}\n", 3, "did you mean fuel?"),
    ],
)
def test_a_fault_in_a_file_names_the_file_and_line(
    tmp_path: Path, text: str, line: int, message: str
) -> None:
    path = written(tmp_path, text)
    values, origin = read_yaml(path)
    with pytest.raises(UserError) as caught:
        build(Car, values, origin)
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("name: a\n  doors: 3\n", ":2: not valid YAML"),
        ("name: [a\n", ":2: not valid YAML"),
        (b"name: a\n# caf\xe9\n", ":2: not valid UTF-8"),
        ("- a\n- b\n", ":1: "),
        ("", ":1: "),
        ("name: a\ndoors: 2\ndoors: 3\n", ":3: "),
        ("name: a\nengine:\n  power: 2\n  power: 3\n", ":4: "),
        ("name: a\ndoors: !!int two\n", ": not valid YAML"),
    ],
)
def test_a_file_that_is_no_recipe_is_refused(tmp_path: Path, text: str | bytes, place: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(UserError) as caught:
        read_yaml(path)
    assert str(caught.value).startswith(f"{path}{place}")


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none.yaml", tmp_path):
        with pytest.raises(UserError, match="cannot be read"):
            read_yaml(path)


def test_overrides_change_nested_values_of_a_copy() -> None:
    values = {"name": "a", "engine": {"power": 3}}
    origin = Provenance("recipe x")
    changed = override(
        values,
        ["engine.power=80.5", "doors=2", "extras=[a, b]", "spare.fuel=diesel", "name=b=c"],
        origin,
    )
    assert values == {"name": "a", "engine": {"power": 3}}
    built = build(Car, changed, origin)
    assert built.engine.power == 80.5
    assert built.doors == 2
    assert built.extras == ("a", "b")
    assert built.spare == Engine(fuel="diesel")
    assert built.name == "b=c"


def test_the_last_override_of_a_key_wins() -> None:
    assert override({}, ["doors=2", "doors=3"], Provenance("x")) == {"doors": 3}


@pytest.mark.parametrize("number", ["1e-3", "1.0e-3", "0.001"])
def test_numbers_may_be_written_as_people_write_them(number: str) -> None:
    origin = Provenance("x")
    values = override({"name": "a"}, [f"engine.power={number}"], origin)
    assert build(Car, values, origin).engine.power == 0.001


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("engine.powr=3", "override 'engine.powr=3': unknown key 'engine.powr'"),
        ("doors=x", "override 'doors=x': doors: Input should be a valid integer"),
        ("engine.power", "'engine.power' is not an override"),
        ("=3", "'=3' is not an override"),
        ("doors.front=3", "doors has no keys inside it"),
        ("name=[a", "the value is not valid YAML"),
        ("doors=2020-13-45", "doors: Input should be a valid integer"),
    ],
)
def test_a_wrong_override_is_named(assignment: str, message: str) -> None:
    origin = Provenance("recipe x")
    with pytest.raises(UserError) as caught:
        build(Car, override({"name": "a", "doors": 4}, [assignment], origin), origin)
    assert message in str(caught.value)


def test_dates_and_words_that_yaml_knows_are_texts(tmp_path: Path) -> None:
    values, origin = read_yaml(written(tmp_path, "name: 2020-01-01\nno: 1\n"))
    assert values == {"name": "2020-01-01", "no": 1}
    del values["no"]
    assert build(Car, override(values, ["doors=2"], origin), origin).name == "2020-01-01"


NASTY = Car(
    name="a: b # c 'd' \"e\" é 🎉 yes",
    doors=0,
    engine=Engine(power=1e-9, fuel="diesel", ratios=(math.pi, 1e22), cylinders=12),
    spare=Engine(),
    extras=("on", "null", "1e3", "", " x ", "- y", "{z"),
)


@pytest.mark.parametrize("documented", [False, True])
@pytest.mark.parametrize("config", [NASTY, Car(name="plain")], ids=["nasty", "plain"])
def test_yaml_reads_back_as_the_same_settings(
    tmp_path: Path, config: Car, documented: bool
) -> None:
    text = as_yaml(config, documented=documented)
    values, origin = read_yaml(written(tmp_path, text))
    assert values == yaml.safe_load(text)
    assert build(Car, values, origin) == config
    assert list(values) == ["name", "doors", "engine", "spare", "extras"]


def test_documentation_stands_beside_its_field() -> None:
    assert documentation(Engine, "power") == "Kilowatts at the shaft."
    assert documentation(Engine, "ratios") == ""
    lines = as_yaml(Car(name="a"), documented=True).splitlines()
    assert lines[0] == "name: a  # What it is called."
    assert "  fuel: petrol  # What it burns." in lines
    assert "#" not in as_yaml(Car(name="a"))


def test_plain_values_are_json_like() -> None:
    assert as_values(Car(name="a", extras=("x",))) == {
        "name": "a",
        "doors": 4,
        "engine": {"power": 75.0, "fuel": "petrol", "ratios": [3.5, 0.9], "cylinders": None},
        "spare": None,
        "extras": ["x"],
    }


def test_equal_values_have_equal_fingerprints_whatever_their_order() -> None:
    assert fingerprint({"a": 1, "b": [2, "ü"]}) == fingerprint({"b": [2, "ü"], "a": 1})
    assert fingerprint({"a": 1}) != fingerprint({"a": 2})
    assert len(fingerprint({})) == 16


@settings
class Drive:
    spare: bool = False


@settings
class Sail(Drive):
    kind: Literal["sail"] = "sail"
    area: Annotated[float, Field(gt=0)] = 20.0


@settings
class Motor(Drive):
    kind: Literal["motor"] = "motor"
    power: Annotated[float, Field(gt=0)] = 5.0


@settings
class Boat:
    drive: Annotated[Sail | Motor, Field(discriminator="kind"), default_key("kind", "sail")] = (
        dataclasses.field(default_factory=Sail)
    )


def boat(values: dict[str, Any]) -> Boat:
    return build(Boat, values, Provenance("recipe boat"))


def test_a_field_of_several_kinds_is_told_apart_by_its_key() -> None:
    assert boat({}).drive == Sail()
    assert boat({"drive": {"area": 7}}).drive == Sail(area=7)
    motor = boat({"drive": {"kind": "motor", "power": 9}})
    assert motor.drive == Motor(power=9)
    assert boat(as_values(motor)) == boat(yaml.safe_load(as_yaml(motor))) == motor


@pytest.mark.parametrize(
    ("drive", "message"),
    [
        ({"kind": "oars"}, "drive.kind: 'oars' is none of sail, motor"),
        ({"kind": "motor", "powr": 1}, "unknown key 'drive.powr': did you mean power?"),
        ({"kind": "motor", "power": -1}, "drive.power: Input should be greater than 0 (got -1)"),
        ({"power": 1}, "unknown key 'drive.power': choose from: area, kind, spare"),
    ],
)
def test_a_fault_inside_a_field_of_several_kinds_is_named_without_the_kind(
    drive: dict[str, Any], message: str
) -> None:
    with pytest.raises(UserError) as caught:
        boat({"drive": drive})
    assert str(caught.value) == f"recipe boat: {message}"


@pytest.mark.parametrize(
    ("override", "meant"),
    [
        ("max_steps=5", "trainer.max_steps"),
        ("dropout=0.2", "model.dropout"),
        ("lr=0.1", "schedule.rate"),
        ("optimizer.learning_rate=0.1", "schedule.rate"),
        ("batch_size=8", "batches.tokens"),
        ("hidden_sise=64", "model.hidden_size"),
        ("trainer.hidden_size=64", "model.hidden_size"),
        ("vocab_size=100", "tokenizer.vocab_size or model.vocab_size"),
        ("trainer.max_step=5", "max_steps"),
    ],
)
def test_a_key_of_another_section_is_suggested_with_its_path(override, meant):
    from landmark.tasks.training import resolve

    with pytest.raises(UserError) as caught:
        resolve("transformer-embedded", [override])
    key = override.partition("=")[0]
    assert str(caught.value) == f"override '{override}': unknown key '{key}': did you mean {meant}?"


def test_a_setting_by_its_former_name_is_read() -> None:
    values = {"task": "gpt", "schedule": {"rising": 0.4}}

    @settings
    class Schedule:
        warmup_fraction: float = 0.3

    @settings
    class Config:
        task: str
        schedule: Schedule

    config = build(Config, values, Provenance("recipe.yaml"))
    assert config.schedule.warmup_fraction == 0.4
    with pytest.raises(UserError, match=r"unknown key .schedule\.rising."):  # given twice
        build(Config, {**values, "schedule": {"rising": 1, "warmup_fraction": 1}}, Provenance("x"))
