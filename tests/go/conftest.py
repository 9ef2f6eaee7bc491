"""What the tests of Go share: an engine that is compiled before anything is timed."""

import pytest

pytest.importorskip("numba", reason="pip install 'landmark[go]'")


@pytest.fixture(scope="session", autouse=True)
def compiled_engine():
    """Compile, or load from the cache, what searches use."""
    from landmark.go.rules.position import Position
    from landmark.go.search.searcher import Limit, Searcher

    Searcher().search(Position(3), Limit(simulations=10))
