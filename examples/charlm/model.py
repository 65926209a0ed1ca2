"""The language model that is evolved: a small GPT over characters.

What train.py relies on: ``GPT(vocabulary, context, config)``, and that calling it with character
numbers of shape (batch, length) gives logits of shape (batch, length, vocabulary), where those of
a position depend on that position and what stands before it.
"""

import torch
import torch.nn.functional as F
from torch import nn

# EVOLVE-BLOCK-START


class Attention(nn.Module):
    """Every position looks back at those before it, with several heads."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    """Attention and a small network, each added to what comes in."""

    def __init__(self, width, heads, expansion, dropout):
        super().__init__()
        self.before_attention = nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.before_network = nn.LayerNorm(width)
        self.up = nn.Linear(width, expansion * width)
        self.down = nn.Linear(expansion * width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        x = x + self.dropout(self.attention(self.before_attention(x)))
        hidden = F.gelu(self.up(self.before_network(x)))
        return x + self.dropout(self.down(hidden))


class GPT(nn.Module):
    """Characters and places to vectors, a stack of blocks, vectors to the next character."""

    def __init__(self, vocabulary, context, config):
        super().__init__()
        width = config["width"]
        self.characters = nn.Embedding(vocabulary, width)
        self.places = nn.Embedding(context, width)
        self.blocks = nn.ModuleList(
            Block(width, config["heads"], config["expansion"], config["dropout"])
            for _ in range(config["layers"])
        )
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.apply(self.initialise)

    def initialise(self, module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, codes):
        places = torch.arange(codes.shape[1], device=codes.device)
        x = self.characters(codes) + self.places(places)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


# EVOLVE-BLOCK-END
