"""Train the digits classifier for a fixed number of epochs and report how well it validates."""

import argparse
from pathlib import Path

import numpy as np
from data import load
from model import Net


def read_config(path):
    """Read the few `key: number` lines of config.yaml, nested by one level of indentation."""
    values, section = {}, ""
    for line in Path(path).read_text().splitlines():
        line = line.split("#")[0].rstrip()
        if not line:
            continue
        key, _, value = line.strip().partition(":")
        if not value.strip():
            section = key + "."
            continue
        if not line.startswith(" "):
            section = ""
        values[section + key] = float(value)
    return values


def rate_at(config, progress):
    """Rate after ``progress`` of the training (0 to 1): linear warm-up, then linear decay."""
    rate, warmup = config["optimiser.rate"], config["schedule.warmup_share"]
    if progress < warmup:
        return rate * (progress / warmup)
    left = (1.0 - progress) / (1.0 - warmup) if warmup < 1.0 else 0.0
    final = config["schedule.final_share"]
    return rate * (final + (1.0 - final) * left)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--test", action="store_true", help="also report the held-out test split")
    options = parser.parse_args()

    config = read_config("config.yaml")
    rng = np.random.default_rng(options.seed)
    images, labels = load("train")
    val_images, val_labels = load("val")
    net = Net(images.shape[1], 10, rng)
    print(f"params: {sum(p.size for p in net.parameters())}")

    batch = max(1, int(config["batch_size"]))
    scale = config["input_scale"]
    for epoch in range(options.epochs):
        order = rng.permutation(len(labels))
        losses = []
        for start in range(0, len(order), batch):
            picked = order[start : start + batch]
            progress = (epoch + start / len(order)) / options.epochs
            loss = net.step(
                images[picked] * scale,
                labels[picked],
                rate_at(config, progress),
                config["optimiser.momentum"],
                config["optimiser.decay"],
            )
            losses.append(loss)
        accuracy = (net.logits(val_images * scale).argmax(axis=1) == val_labels).mean()
        print(f"epoch {epoch + 1}: loss {np.mean(losses):.4f} val_acc {accuracy:.4f}")

    guesses = net.logits(val_images * scale).argmax(axis=1)
    for digit in range(10):
        right = (guesses[val_labels == digit] == digit).mean()
        print(f"class {digit}: {right:.3f}")
    if options.test:
        images, labels = load("test")
        accuracy = (net.logits(images * scale).argmax(axis=1) == labels).mean()
        print(f"test_acc: {accuracy:.4f}")
    print(f"val_acc: {(guesses == val_labels).mean():.4f}")


if __name__ == "__main__":
    main()
