"""`landmark` with the toy: `python -m tests.toy train corridor …`.

TOY_KILLED_AT=STEP kills the process in the middle of that step.
"""

from landmark.cli.main import main
from landmark.tasks.card import register
from tests.toy.card import CARD

register(CARD)
main()
