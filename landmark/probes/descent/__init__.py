"""How optimisers move: paths on surfaces over the plane, and the updates of real trainings."""
