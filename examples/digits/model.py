"""The classifier that is evolved: one hidden layer, trained by plain gradient descent."""

import numpy as np

HIDDEN = 16
INIT_SCALE = 0.2


def activation(x):
    return 1.0 / (1.0 + np.exp(-x))


def slope(y):
    """Derivative of the activation, given its value."""
    return y * (1.0 - y)


class Net:
    def __init__(self, inputs, classes, rng):
        self.w1 = rng.normal(0.0, INIT_SCALE, (inputs, HIDDEN))
        self.b1 = np.zeros(HIDDEN)
        self.w2 = rng.normal(0.0, INIT_SCALE, (HIDDEN, classes))
        self.b2 = np.zeros(classes)
        self.velocity = [np.zeros_like(p) for p in self.parameters()]

    def parameters(self):
        return [self.w1, self.b1, self.w2, self.b2]

    def logits(self, x):
        return activation(x @ self.w1 + self.b1) @ self.w2 + self.b2

    def step(self, x, y, rate, momentum, decay):
        """One update on a mini-batch; returns its mean cross-entropy."""
        hidden = activation(x @ self.w1 + self.b1)
        scores = hidden @ self.w2 + self.b2
        scores = scores - scores.max(axis=1, keepdims=True)
        chances = np.exp(scores)
        chances /= chances.sum(axis=1, keepdims=True)
        loss = -np.log(chances[np.arange(len(y)), y] + 1e-12).mean()

        error = chances
        error[np.arange(len(y)), y] -= 1.0
        error /= len(y)
        back = (error @ self.w2.T) * slope(hidden)
        gradients = [x.T @ back, back.sum(axis=0), hidden.T @ error, error.sum(axis=0)]
        for parameter, gradient, velocity in zip(self.parameters(), gradients, self.velocity):
            velocity *= momentum
            velocity -= rate * (gradient + decay * parameter)
            parameter += velocity
        return loss
