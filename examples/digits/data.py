"""The data and its fixed split: 1,000 images to learn from, 400 to validate, 397 for a test."""

from pathlib import Path

import numpy as np


def load(split):
    """Return (images, labels) of ``train``, ``val`` or ``test``; images are rows of 64 pixels."""
    store = np.load(Path(__file__).with_name("digits.npz"))
    order = np.random.default_rng(7).permutation(len(store["labels"]))
    part = {"train": order[:1000], "val": order[1000:1400], "test": order[1400:]}[split]
    return store["images"][part].astype(float), store["labels"][part].astype(int)
