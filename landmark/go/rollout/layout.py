"""Where each feature's weight stands, and what a workspace needs to play by the policy.

Silver et al. 2016, Extended Data Table 4. All features are of one move, seen by its colour.
"""

from landmark.go.rules.geometry import AREA, NUM_POINTS
from landmark.go.rules.shape import NUM_CODES

PATTERN = 0
"""The 3x3 square around the move, one weight for all symmetries."""
NUM_DIAMONDS, DIAMOND_POINTS = 1 << 15, 12
DIAMOND = PATTERN + NUM_CODES
"""The move's place in the diamond of 12 points around the last move, and what stands there."""
LOCATION = DIAMOND + NUM_DIAMONDS * DIAMOND_POINTS
NUM_LINES = 5
"""The lines of the board that the move is on, counted from the edges, the farther up to here."""
CAPTURE = LOCATION + NUM_LINES * NUM_LINES
"""For each side on which it captures: by the size of the chain, 1, 2, 3 to 4, more."""
EXTENSION = CAPTURE + 4
"""The same for own chains in atari beside it."""
SELF_ATARI = EXTENSION + 4
SAVE = SELF_ATARI + 1
"""Captures the last move, or saves what it put in atari."""
NAKADE = SAVE + 1
"""The vital point of a small eye beside the last move."""
NEAR_OWN = NAKADE + 1
"""Beside the colour's own last move: directly, diagonally."""
NUM_WEIGHTS = NEAR_OWN + 2

MOST_RESPONSES = DIAMOND_POINTS + 8 + AREA
POLICY_FIELDS = [
    ("policy_is_on", "u1"),
    # by colour: e to the power of the weights, 0 for own eyes
    ("policy_pattern", "f4", (3, NUM_CODES)),
    ("policy_factors", "f4", NUM_WEIGHTS),
    ("policy_location", "f4", NUM_POINTS),
    # by colour and point: probabilities of moves, without a factor and without responses
    ("policy_weights", "u4", (3, NUM_POINTS)),
    ("hot_points", "u2", AREA),  # beside chains in atari
    ("is_hot", "u1", NUM_POINTS),
    ("num_hot", "u2"),
    ("response_points", "u2", MOST_RESPONSES),
    ("response_features", "u4", MOST_RESPONSES),
    ("num_responses", "u2"),
    ("saved_points", "u2", MOST_RESPONSES + AREA),  # weights to be put back after a move is drawn
    ("saved_weights", "u4", MOST_RESPONSES + AREA),
    ("num_saved", "u2"),
]
"""Part of a workspace."""
