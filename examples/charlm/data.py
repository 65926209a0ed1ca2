"""The text: fixed splits, fixed batches. What is trained on and measured on is decided here."""

from pathlib import Path

import torch

CONTEXT = 48  # characters that the model sees at once
BATCH = 16  # sequences a training step; with DDP they are shared out among the processes
VAL_SHARE, TEST_SHARE = 0.1, 0.1  # of the text, at its end


def load():
    """Return the splits as tensors of character numbers, and how many characters there are."""
    text = Path(__file__).with_name("alice.txt").read_text(encoding="ascii")
    alphabet = sorted(set(text))
    number = {character: i for i, character in enumerate(alphabet)}
    codes = torch.tensor([number[character] for character in text])
    val = int(len(codes) * (1 - VAL_SHARE - TEST_SHARE))
    test = int(len(codes) * (1 - TEST_SHARE))
    splits = {"train": codes[:val], "val": codes[val:test], "test": codes[test:]}
    return splits, len(alphabet)


def sample(codes, generator):
    """Return random pieces of the text: inputs, and for each position the character after it."""
    starts = torch.randint(len(codes) - CONTEXT, (BATCH,), generator=generator)
    pieces = torch.stack([codes[start : start + CONTEXT + 1] for start in starts.tolist()])
    return pieces[:, :-1], pieces[:, 1:]


def windows(codes):
    """Return a whole split, cut into pieces: each character but the first is guessed once."""
    count = (len(codes) - 1) // CONTEXT
    end = count * CONTEXT
    return codes[:end].view(count, CONTEXT), codes[1 : end + 1].view(count, CONTEXT)
