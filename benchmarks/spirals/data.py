"""Three noisy spirals in a plane, the same for every run."""

import numpy as np
import torch

ARMS, PER_ARM = 3, 400


def load(part):
    """Return (points, arm of each) of ``train`` or ``val``."""
    rng = np.random.default_rng(20_26)
    turns = rng.uniform(0.1, 1.0, (ARMS, PER_ARM))
    angle = 5.0 * turns + (2.0 * np.pi / ARMS) * np.arange(ARMS)[:, None]
    points = np.stack([turns * np.cos(angle), turns * np.sin(angle)], axis=-1)
    points += rng.normal(0.0, 0.03, points.shape)
    arms = np.repeat(np.arange(ARMS)[:, None], PER_ARM, axis=1)
    keep = slice(0, 250) if part == "train" else slice(250, PER_ARM)
    x = points[:, keep].reshape(-1, 2)
    y = arms[:, keep].reshape(-1)
    return torch.tensor(x, dtype=torch.float32), torch.tensor(y)
