"""The classifier and how it is trained; this is what evolves."""

import torch
from torch import nn

HIDDEN = 16
RATE = 0.05
MOMENTUM = 0.0
DECAY = 0.0
BATCH = 50
SMOOTHING = 0.0


class Net(nn.Module):
    def __init__(self, inputs, classes):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(inputs, HIDDEN),
            nn.Tanh(),
            nn.Linear(HIDDEN, HIDDEN),
            nn.Tanh(),
            nn.Linear(HIDDEN, classes),
        )

    def forward(self, x):
        return self.layers(x)


def optimiser(net):
    return torch.optim.SGD(net.parameters(), lr=RATE, momentum=MOMENTUM, weight_decay=DECAY)


def loss(scores, y):
    return nn.functional.cross_entropy(scores, y, label_smoothing=SMOOTHING)
