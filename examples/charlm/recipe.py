"""How the model is trained: the optimiser and the learning rate over time. Evolved, too."""

import torch

# EVOLVE-BLOCK-START


def optimiser(model, config):
    """Return the optimiser; weights that are no matrices are not decayed."""
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    others = [p for p in model.parameters() if p.dim() < 2]
    groups = [
        {"params": matrices, "weight_decay": config["weight_decay"]},
        {"params": others, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=config["rate"], betas=(config["beta1"], config["beta2"]))


def rate_at(config, progress):
    """Return the learning rate after ``progress`` of the training (0 to 1)."""
    warmup, final = config["warmup_share"], config["final_share"]
    if progress < warmup:
        return config["rate"] * (progress / warmup)
    left = (1.0 - progress) / (1.0 - warmup) if warmup < 1.0 else 0.0
    return config["rate"] * (final + (1.0 - final) * left)


def clip(model, config):
    """Keep one odd batch from throwing the weights far."""
    torch.nn.utils.clip_grad_norm_(model.parameters(), config["clip"])


# EVOLVE-BLOCK-END
