"""The building blocks of networks: attention, packing, positions, blocks, the fused output loss."""
