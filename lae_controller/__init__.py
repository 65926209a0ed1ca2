"""Evolve training code: ask, mutate, evaluate, tell."""

__version__ = "0.1.0"
