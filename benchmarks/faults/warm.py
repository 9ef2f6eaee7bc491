"""Everything that a training imports, so that processes forked from here begin at once.

Frozen objects are not touched by garbage collection: their memory stays shared with the children,
which makes a short training three times as fast.
"""

import gc

import torch._dynamo  # noqa: F401  (optimisers import it when they are made)

import landmark.cli.main
import landmark.cli.progress
import landmark.tasks.adversarial.recipes
import landmark.tasks.training
import landmark.tasks.translation.run  # noqa: F401

gc.collect()
gc.freeze()
