"""Verbs that several tasks have."""

import pytest

from landmark.cli.flags import flags_of
from landmark.cli.verb_command import offers
from landmark.tasks.card import CARDS, resolve


@pytest.mark.parametrize("name", sorted(offers()))
def test_tasks_that_share_a_verb_agree_on_what_it_takes_and_on_its_flags(name):
    its = offers()[name]
    assert len({offer.verb.takes for offer in its}) == 1
    check_agreement(offer.flags() for offer in its)


def test_tasks_agree_on_the_options_of_their_data():
    check_agreement(flags_of(resolve(card.data_options)) for card in CARDS.values())


def check_agreement(declared):
    """The same name means the same, in type and help."""
    found = {}
    for flags in declared:
        for flag in flags.values():
            found.setdefault(flag.name, set()).add((flag.kind, flag.many, flag.help))
    assert {name: kinds for name, kinds in found.items() if len(kinds) > 1} == {}
