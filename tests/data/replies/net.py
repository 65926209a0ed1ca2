import numpy as np

UNITS = 12
SPREAD = 0.05
CLIP = 1.0


def bend(z):
    return np.tanh(z)


class Model:
    def __init__(self, sizes, rng):
        inputs, classes = sizes
        self.inner = rng.normal(0.0, SPREAD, (inputs, UNITS))
        self.outer = rng.normal(0.0, SPREAD, (UNITS, classes))

    def scores(self, images):
        self.hidden = bend(images @ self.inner)
        return self.hidden @ self.outer

    def learn(self, images, targets, rate, progress):
        chances = np.exp(self.scores(images))
        chances /= chances.sum(axis=1, keepdims=True)
        error = (chances - targets) / len(images)
        back = (error @ self.outer.T) * (1.0 - self.hidden**2)
        self.outer -= rate * np.clip(self.hidden.T @ error, -CLIP, CLIP)
        self.inner -= rate * np.clip(images.T @ back, -CLIP, CLIP)
