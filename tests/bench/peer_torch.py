#!/usr/bin/env python3
"""PyTorch as one of the peers (peer.h): scaled_dot_product_attention.

  attention B H S D [causal]
"""
import torch
from conversation import converse


class Work:
    def __init__(self, words):
        if words[0] != 'attention':
            raise ValueError('PyTorch is asked for attention')
        shape = [int(word) for word in words[1:5]]
        generator = torch.Generator().manual_seed(1)
        self.operands = [torch.randn(shape, generator=generator) for _ in range(3)]
        self.causal = 'causal' in words

    def run(self):
        with torch.inference_mode():
            torch.nn.functional.scaled_dot_product_attention(*self.operands, is_causal=self.causal)

    def facts(self):
        return f'version={torch.__version__} threads={torch.get_num_threads()}'


if __name__ == '__main__':
    converse(Work)
