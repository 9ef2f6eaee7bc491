"""Print pairs of the embedded corpus, tab-separated: python -m landmark.data.embedded."""

import argparse
import sys

from landmark.core.errors import UserError
from landmark.data.embedded.corpus import LARGEST_DEPTH, SPLITS, draw


def main() -> int:
    """Parse the arguments and print."""
    parser = argparse.ArgumentParser(prog="landmark.data.embedded", description=__doc__)
    parser.add_argument("--split", default="train", help=f"one of {', '.join(SPLITS)}")
    parser.add_argument("--count", type=int, default=10, help="how many pairs")
    parser.add_argument("--seed", type=int, default=1, help="another seed, other pairs")
    parser.add_argument("--depth", type=int, help=f"coordinated parts, 1 to {LARGEST_DEPTH}")
    parser.add_argument("--alignment", action="store_true", help="also print the word alignment")
    arguments = parser.parse_args()
    try:
        for pair in draw(arguments.split, arguments.count, arguments.seed, arguments.depth):
            fields = [pair.source, pair.target]
            if arguments.alignment:
                fields.append(" ".join(f"{i}-{j}" for i, j in pair.alignment))
            print("\t".join(fields))
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
