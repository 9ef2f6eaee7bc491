"""Count what training the paper's Transformers costs, beside what the paper estimates.

The paper (Vaswani et al. 2017, table 2) multiplies training time, number of GPUs and their
sustained rate, an upper bound; here the matrix products of its recipe are counted: three times the
forward pass (forward, gradients of inputs, gradients of weights), two operations a
multiply-accumulate, over all updates. The ratio is the share of the GPUs' rate that was in use.

    python benchmarks/transformer_flops.py
"""

import torch

from landmark.probes.anatomy import dissect
from landmark.tasks.catalog import NETWORKS, load_catalog
from landmark.tasks.training import resolve

PAPER = {"base": 3.3e18, "big": 2.3e19}
LENGTH = 128  # tokens a side of the sequence that is counted


def main() -> None:
    load_catalog()
    print(f"{'recipe':<24}{'updates':>9}{'tokens each':>13}{'FLOPs':>11}{'paper':>10}{'share':>8}")
    for size, published in PAPER.items():
        config = resolve(f"transformer-{size}-wmt14")
        network = NETWORKS[f"transformer-{size}"]
        with torch.device("meta"):
            macs = dissect(network.build(), network.compute, ()).macs
        tokens, updates = config.batches.tokens, config.trainer.max_steps
        flops = 6 * macs / LENGTH * tokens * updates
        row = f"{f'transformer-{size}-wmt14':<24}{updates:>9,}{tokens:>13,}"
        print(f"{row}{flops:>11.2e}{published:>10.1e}{flops / published:>8.2f}")


if __name__ == "__main__":
    main()
