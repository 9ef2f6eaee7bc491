import re

import pytest

from landmark.core.registry import Registry
from landmark.figures.network import count_network
from landmark.tasks import catalog
from landmark.tasks.catalog import NETWORKS, RECIPES, SYSTEMS, load_catalog, system_of
from landmark.tasks.task import task_named

load_catalog()
SHAPES_ONLY = {"gpt3", "alexnet", "vgg", "googlenet", "highway", "inception"}
"""Too large to train here, or trained by another system's recipe with `model.architecture=…`."""


def test_every_recipe_builds_a_run_of_a_known_task_and_system():
    for name, recipe in ((name, RECIPES[name]) for name in RECIPES):
        config = recipe.build()
        assert recipe.name == name
        assert recipe.system in SYSTEMS
        assert isinstance(config, task_named(config.task).config)
        assert recipe.summary


def test_every_system_names_its_paper_and_year():
    for system in SYSTEMS.values():
        assert re.search(r"et al\.|, ", system.paper), system.paper
        assert 1986 <= system.year <= 2020  # what led to the landmarks of 2012-2020 is here too
        elsewhere = ("arXiv", "OpenAI", "Nature")
        assert any(name in system.paper for name in elsewhere) or system.year <= 2012
        has_recipe = any(recipe.system == system.name for recipe in RECIPES.values())
        assert has_recipe or system.name in SHAPES_ONLY


def test_every_network_belongs_to_the_system_that_registered_it():
    listed = [network.name for system in SYSTEMS.values() for network in system.networks]
    assert sorted(listed) == sorted(NETWORKS)
    for system in SYSTEMS.values():
        assert all(system_of(network.name) is system for network in system.networks)


@pytest.mark.parametrize("name", [n.name for n in NETWORKS.values() if n.published_parameters])
def test_the_built_network_has_the_published_parameters(name):
    counted = count_network(name)
    assert counted.anatomy.parameters == counted.network.published_parameters


def test_loading_twice_registers_nothing_twice():
    before = list(RECIPES)
    load_catalog()
    assert list(RECIPES) == before


def test_a_name_is_given_once(monkeypatch):
    monkeypatch.setattr(catalog, "RECIPES", Registry("recipe"))
    catalog.recipe("mine", system="transformer", summary="x")(lambda: None)
    with pytest.raises(ValueError, match="'mine' is registered twice"):
        catalog.recipe("mine", system="transformer", summary="y")(lambda: None)
