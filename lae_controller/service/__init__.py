"""The AlphaEvolve Cloud API, self-hosted: the same loop behind HTTP, evaluated by its clients."""
