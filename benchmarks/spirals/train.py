"""Train for a fixed number of epochs and say how well it validates."""

import argparse

import torch
from data import ARMS, load
from model import BATCH, Net, loss, optimiser


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    torch.set_num_threads(1)
    x, y = load("train")
    net = Net(x.shape[1], ARMS)
    rule = optimiser(net)
    for epoch in range(options.epochs):
        for picked in torch.randperm(len(y)).split(max(1, int(BATCH))):
            rule.zero_grad()
            value = loss(net(x[picked]), y[picked])
            value.backward()
            rule.step()
        if (epoch + 1) % 10 == 0:
            print(f"epoch {epoch + 1} loss {value.item():.4f}", flush=True)
    val_x, val_y = load("val")
    with torch.no_grad():
        print(f"val_acc: {(net(val_x).argmax(1) == val_y).float().mean().item():.4f}")


if __name__ == "__main__":
    main()
