"""Overrides that choose settings of another kind, as data.distribution=spiral.

Where a field may be of several classes, a recipe has the keys of one of them. An override that
chooses another class drops the keys that this class does not know and those that the recipe had
left at their default. What the recipe had set and the new class knows stays; so does every
override, for which an unknown key is an error as ever.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter

from landmark.core.configuration import (
    chosen_settings,
    field_defaults,
    inner_settings,
    present_name,
)

Values = Mapping[str, Any]


def follow_choices(cls: type, before: Values, after: Values, given: Values) -> dict[str, Any]:
    """Nested values of a settings class after overrides, without those of a former choice.

    before: the same before them; given: the overrides alone.
    """
    found = dict(after)
    for field, now in after.items():
        was, named = before.get(field), given.get(field)
        named = named if isinstance(named, Mapping) else {}
        former, chosen = (chosen_settings(cls, field, values) for values in (was, now))
        if former is None or chosen is None:
            continue
        if former is chosen:
            found[field] = follow_choices(chosen, was or {}, now, named)
        else:
            found[field] = {
                key: value
                for key, value in now.items()
                if key in named or _carries_over(key, value, former, chosen)
            }
    return found


def _carries_over(key: str, value: Any, former: type, chosen: type) -> bool:
    """Whether this was set to another value than its default, and the new choice has the same."""
    name = present_name(key)
    if name not in {field.name for field in dataclasses.fields(chosen)}:
        return False
    if inner_settings(former, name) != inner_settings(chosen, name):
        return False
    defaults = field_defaults(former)
    return name not in defaults or value != _ANY.dump_python(defaults[name], mode="json")


_ANY: TypeAdapter[Any] = TypeAdapter(Any)
