"""`landmark.call`: any verb from Python, with the records that the command prints by --json."""

from collections.abc import Iterable
from typing import Any

from landmark.core.errors import UserError
from landmark.tasks.card import CARDS, Item, Record, Remark, resolve, take_options


def call(pipeline: Any, verb: str, inputs: Iterable[Any] = (), **options: Any) -> list[Record]:
    """What `landmark VERB RUN` does, with a loaded run: a record for each input.

    Inputs are texts, pairs of texts or paths of images; options are the command's flags as
    keywords, as n_best=3. `evaluate` and `sample` take no inputs.
    """
    card = CARDS[pipeline.config.task]
    found = card.verb(verb)
    if found is None:
        has = ", ".join(card.verb_names())
        raise UserError(f"a run of task {card.name!r} has no {verb}: it has {has}")
    items = [Item(value, f"input {number}", number) for number, value in enumerate(inputs, 1)]
    if items and found.takes == "nothing":
        raise UserError(f"{verb} takes no inputs, but {len(items)} are given")
    if not items and found.blank is not None:
        items = [Item(found.blank, "the prompt", 1)]
    chosen = take_options(resolve(found.options), None, options)
    if found.check:
        resolve(found.check)(pipeline.config, chosen, bool(items))
    records = resolve(found.run)(pipeline, [items] if items else [], chosen, _silent)
    return [record for record in records if not isinstance(record, Remark)]


def _silent(record: object) -> None:
    return None
