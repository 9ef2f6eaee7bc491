"""Upper limits of settings that memory or time grows with.

Each is far above what serves anyone. A typing error such as --beam 1000000 is then answered at
once, before memory is taken.
"""

BEAM = 1024
"""Hypotheses of one search: the state of each is held, and all are ranked at every step."""
SAMPLES = 100_000
"""Samples, images or alternatives that one call makes and holds until they are written."""
LENGTH = 1_000_000
"""Tokens of one generated text."""
BATCH = 65_536
"""Items that are computed side by side."""
TOKENS = 16_777_216
"""Tokens that are computed side by side."""
BOOTSTRAP = 100_000
"""Resamples of a confidence interval, for each of which every item is drawn once."""
THREADS = 1024
"""CPU threads of one process; the operating system refuses to start many more."""
WORKERS = 256
"""Processes that load data; each has its own copy of Python in memory."""
PIXELS = 16_384
"""Height and width of an image: a gigabyte and a half in colour, as bytes."""
VOCABULARY = 4_000_000
"""Entries of a vocabulary, each with a row of the embedding."""
COLDEST = 0.01
"""Lowest temperature: logits are divided by it, and below this only the largest is ever drawn."""
HOTTEST = 1000.0
"""Highest temperature: long before it, every token is as likely as any other."""
