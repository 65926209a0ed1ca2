"""Train the character model for a fixed number of steps and report how well it guesses new text.

    python train.py --steps 400                                     # on a CPU or one GPU
    torchrun --standalone --nproc-per-node 4 train.py --steps 400   # each batch over four

val_loss is in nats a character, over the whole validation split; lower is better.
"""

import argparse
import os
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn.functional as F
from data import BATCH, CONTEXT, load, sample, windows
from model import GPT
from recipe import clip, optimiser, rate_at
from torch.nn.parallel import DistributedDataParallel

MOST_PARAMETERS = 250_000  # a larger model would win by its size alone
REPORTS = 6  # points of the curve


def read_config(path):
    """Read the few `key: number` lines of config.yaml, nested by one level of indentation."""
    sections, section = {}, None
    for line in Path(path).read_text().splitlines():
        line = line.split("#")[0].rstrip()
        if not line:
            continue
        key, _, value = (part.strip() for part in line.partition(":"))
        if not value:
            section = sections.setdefault(key, {})
        else:
            number = float(value)
            section[key] = int(number) if number == int(number) and "." not in value else number
    return sections


def place(wanted):
    """Return the device of this process, its rank and how many processes there are."""
    world = int(os.environ.get("WORLD_SIZE", "1"))
    rank = int(os.environ.get("LOCAL_RANK", "0"))
    cuda = torch.cuda.is_available() if wanted == "auto" else wanted == "cuda"
    device = torch.device("cuda", rank) if cuda else torch.device("cpu")
    if world > 1:
        dist.init_process_group("nccl" if cuda else "gloo")
    return device, rank, world


@torch.no_grad()
def loss_of(model, codes, device):
    """Return the mean cross-entropy a character over a whole split."""
    model.eval()
    inputs, targets = windows(codes)
    total = 0.0
    for x, y in zip(inputs.split(128), targets.split(128)):
        logits = model(x.to(device)).float().flatten(0, 1)
        total += F.cross_entropy(logits, y.to(device).flatten(), reduction="sum").item()
    model.train()
    return total / targets.numel()


@torch.no_grad()
def refuse_looking_ahead(model, vocabulary, device):
    """End the run if a guess changes with what comes after it: its loss would mean nothing."""
    model.eval()
    text = torch.arange(2 * CONTEXT, device=device).view(2, CONTEXT) % vocabulary
    other = text.clone()
    other[:, CONTEXT // 2 :] = (other[:, CONTEXT // 2 :] + 1) % vocabulary
    before = slice(0, CONTEXT // 2)
    if not torch.allclose(model(text)[:, before], model(other)[:, before], rtol=1e-3, atol=1e-4):
        sys.exit("train.py: the model looks ahead: a guess changed with the text after it")
    model.train()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", choices=["auto", "cpu", "cuda"], default="auto")
    parser.add_argument("--test", action="store_true", help="also report the held-out test split")
    options = parser.parse_args()

    config = read_config(Path(__file__).with_name("config.yaml"))
    device, rank, world = place(options.device)
    if BATCH % world:
        sys.exit(f"train.py: {world} processes cannot share a batch of {BATCH} evenly")
    torch.set_num_threads(1)  # at this size more threads of a CPU mostly wait for each other
    torch.manual_seed(options.seed)
    splits, vocabulary = load()
    model = GPT(vocabulary, CONTEXT, config["model"]).to(device)
    parameters = sum(p.numel() for p in model.parameters())
    if parameters > MOST_PARAMETERS:
        sys.exit(f"train.py: {parameters} parameters; expected at most {MOST_PARAMETERS}")
    refuse_looking_ahead(model, vocabulary, device)
    if rank == 0:
        print(f"params: {parameters}", flush=True)

    trained = model
    if world > 1:
        trained = DistributedDataParallel(model, [rank] if device.type == "cuda" else None)
    steps = optimiser(model, config["recipe"])
    draw = torch.Generator().manual_seed(options.seed)
    mine = slice(rank * BATCH // world, (rank + 1) * BATCH // world)
    began, every = time.monotonic(), max(1, options.steps // REPORTS)
    for step in range(1, options.steps + 1):
        x, y = (half[mine].to(device) for half in sample(splits["train"], draw))
        for group in steps.param_groups:
            group["lr"] = rate_at(config["recipe"], (step - 1) / options.steps)
        loss = F.cross_entropy(trained(x).float().flatten(0, 1), y.flatten())
        steps.zero_grad(set_to_none=True)
        loss.backward()
        clip(model, config["recipe"])
        steps.step()
        if rank == 0 and (step % every == 0 or step == options.steps):
            val = loss_of(model, splits["val"], device)
            print(f"step {step}: loss {loss.item():.4f} val_loss {val:.4f}", flush=True)

    refuse_looking_ahead(model, vocabulary, device)
    if rank == 0:
        if options.test:
            print(f"test_loss: {loss_of(model, splits['test'], device):.6f}")
        print(f"seconds: {time.monotonic() - began:.1f}")
        print(f"val_loss: {loss_of(model, splits['val'], device):.6f}", flush=True)
    if world > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
