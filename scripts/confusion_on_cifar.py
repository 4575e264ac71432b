"""Train ResNet-20 and ResNet-56 on CIFAR-10 three times each, and store what the page on confusion needs.

    python scripts/confusion_on_cifar.py train IMAGES RUN --network resnet20 resnet56 --seed 0 1 2
    python scripts/confusion_on_cifar.py bands RUN --network resnet20
    python scripts/confusion_on_cifar.py train IMAGES RUN --network resnet20 --seed 0 1 2 --remedy groupdro
    python scripts/confusion_on_cifar.py collect RUN OUT

IMAGES has the folders train/CLASS and test/CLASS with JPEG files; RUN gets the scores after every epoch. ``bands``
divides the training images by their confusion scores, for the remedies.
"""

from __future__ import annotations

import argparse
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from regrade.core import Preprocessing
from regrade.core.arrays import FloatArray, IntArray
from regrade.models import Precision
from regrade.models.networks import new_network
from regrade.train.batch_loss import GroupDRO, MeanLoss
from regrade.train.hyperparameters import Hyperparameters
from regrade.train.images import ImageTensors
from regrade.train.loop import EpochResult, Training

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
PREPROCESSING = Preprocessing(32, 32, mean=(0.4914, 0.4822, 0.4465), std=(0.247, 0.2435, 0.2616))
EPOCHS = 100
HARD = float(np.log2(10)) / 2
"""The middle of the range of confusion scores in bits, as in the paper."""
BANDS_OF = "resnet20"
"""The network whose scores on the training images are stored: the remedies use them."""
GROUPS, CURVE = "groups.npy", "curve.npy"
KEPT = range(0, EPOCHS + 1, 5)
"""The epochs whose scores on the test images are kept in full."""


def settings(epochs: int) -> Hyperparameters:
    """Large batches with a proportional learning rate, in mixed precision: a GPU is used well."""
    return Hyperparameters(epochs, batch=512, learning_rate=0.4, warm_up=min(5, epochs / 2), precision=Precision.BF16)


def pixels_of(path: Path) -> FloatArray:
    """The pixels of an image file."""
    return np.asarray(Image.open(path).convert("RGB"))


def load(images: Path, split: str) -> tuple[FloatArray, IntArray]:
    """Pixels (n, 32, 32, 3) and labels (n,), sorted by class and file name."""
    files = [(path, label) for label, name in enumerate(CLASSES) for path in sorted((images / split / name).iterdir())]
    with ProcessPoolExecutor() as pool:
        pixels = list(pool.map(pixels_of, [path for path, _ in files], chunksize=500))
    return np.stack(pixels), np.array([label for _, label in files])


def tensors(images: Path, split: str, run: Path) -> ImageTensors:
    """The images of a split, decoded once per run folder."""
    stored = run / f"{split}.npz"
    if not stored.exists():
        pixels, labels = load(images, split)
        np.savez(stored, pixels=pixels, labels=labels)
    arrays = np.load(stored)
    return ImageTensors.of(arrays["pixels"], arrays["labels"], PREPROCESSING)


def probabilities(network: torch.nn.Module, images: ImageTensors) -> FloatArray:
    """Shape (n, 10): the softmax of a network in evaluation mode."""
    network.eval()
    with torch.inference_mode():
        parts = [network(batch).float().softmax(dim=1) for batch in images.batches(5000)]
    return torch.cat(parts).cpu().numpy()


def train(arguments: argparse.Namespace) -> None:
    """Train every network with every seed at the same time, and store probabilities before and after every epoch."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    run = Path(arguments.run)
    splits = {split: tensors(Path(arguments.images), split, run).to(device) for split in ("train", "test")}
    groups = torch.from_numpy(np.load(run / GROUPS).astype(np.int64)).to(device) if arguments.remedy else None
    members = [
        Member(network, seed, splits, groups, arguments) for network in arguments.network for seed in arguments.seed
    ]
    for member in members:  # the first epoch captures the CUDA graph, which must not happen twice at a time
        member.first_epoch()
    with ThreadPoolExecutor(len(members)) as pool:
        list(pool.map(Member.other_epochs, members))


class Member:
    """One training, with the folder of its scores."""

    def __init__(
        self,
        network: str,
        seed: int,
        splits: dict[str, ImageTensors],
        groups: torch.Tensor | None,
        arguments: argparse.Namespace,
    ) -> None:
        remedy: str | None = arguments.remedy
        self.name = f"{network}-{remedy}" if remedy else network
        self.seed, self.curve = seed, list[tuple[float, float]]()
        self.splits = {name: images for name, images in splits.items() if name == "test" or network == BANDS_OF}
        self.training = Training(
            lambda: new_network(network, channels=3, size=32, classes=10),
            splits["train"],
            settings(arguments.epochs),
            seed=seed,
            batch_loss=GroupDRO(groups, step_size=arguments.step_size) if remedy == "groupdro" else MeanLoss(),
            weights=(1 / torch.bincount(groups).float())[groups] if remedy == "upsample" else None,
        )
        self.folder = Path(arguments.run) / self.name / f"seed-{seed}"
        self.folder.mkdir(parents=True, exist_ok=True)

    def first_epoch(self) -> None:
        """Store the scores of the untrained network, and train one epoch."""
        save(self.folder, 0, self.training.network, self.splits)
        self._keep(self.training.train_epoch())

    def other_epochs(self) -> None:
        """Train the rest, on a stream of its own so that members share the GPU."""
        stream = torch.cuda.Stream() if torch.cuda.is_available() else None
        with torch.cuda.stream(stream):
            for result in self.training.run():
                self._keep(result)
        np.save(self.folder / CURVE, np.array(self.curve))

    def _keep(self, result: EpochResult) -> None:
        save(self.folder, result.epoch, self.training.network, self.splits)
        self.curve.append((result.loss, result.accuracy))
        if result.epoch % 10 in (0, 1):
            print(f"{time.strftime('%H:%M:%S')} {self.name}, seed {self.seed}: {result}", flush=True)


def save(folder: Path, epoch: int, network: torch.nn.Module, splits: dict[str, ImageTensors]) -> None:
    """Store the probabilities after an epoch in half precision."""
    for split, images in splits.items():
        np.save(folder / f"{split}-epoch-{epoch:03}.npy", probabilities(network, images).astype(np.float16))


def collect(arguments: argparse.Namespace) -> None:
    """Reduce the scores of all trainings to what is worth keeping."""
    run, out = Path(arguments.run), Path(arguments.out)
    kept: dict[str, FloatArray] = {}
    for folder in sorted(path for path in run.iterdir() if path.is_dir()):
        members = sorted(path for path in folder.glob("seed-*") if (path / CURVE).exists())
        if not members:
            continue
        name = folder.name
        kept[f"{name} curves"] = np.stack([np.load(member / CURVE) for member in members]).astype(np.float32)
        last = len(kept[f"{name} curves"][0])
        splits = [split for split in ("test", "train") if (members[0] / f"{split}-epoch-000.npy").exists()]
        for split in splits:
            kept[f"{name} {split} entropies"] = entropies(members, split, last)
        kept[f"{name} test last"] = np.stack([np.load(member / f"test-epoch-{last:03}.npy") for member in members])
        epochs = [epoch for epoch in KEPT if epoch <= last]
        full = [[np.load(member / f"test-epoch-{epoch:03}.npy") for epoch in epochs] for member in members]
        if "-" not in name:
            np.save(out / f"{name}-test.npy", np.array(full))
    kept = {key: values.mean(axis=0) if "train entropies" in key else values for key, values in kept.items()}
    named: dict[str, Any] = {key.replace(" ", "_"): values for key, values in kept.items()}
    np.savez_compressed(out / "kept.npz", **named)


def bands(arguments: argparse.Namespace) -> None:
    """Divide the training images into easy (0) and hard (1) ones by the confusion score of a network's ensemble."""
    run = Path(arguments.run)
    members = sorted((run / arguments.network).glob("seed-*"))
    last = len(np.load(members[0] / CURVE))
    scores = entropies(members, "train", last).mean(axis=0, dtype=np.float64)
    hard = scores >= arguments.above
    np.save(run / GROUPS, hard)
    print(f"{hard.sum():,} of {len(hard):,} training images have at least {arguments.above:.2f} bits")


def entropies(members: list[Path], split: str, last: int) -> FloatArray:
    """Shape (epochs, n): the entropy in bits of the members' mean probabilities after each epoch."""
    rows = []
    for epoch in range(last + 1):
        mean = np.mean([np.load(member / f"{split}-epoch-{epoch:03}.npy").astype(np.float32) for member in members], 0)
        rows.append(-(mean * np.log2(np.maximum(mean, 1e-12))).sum(axis=1))
    return np.array(rows, dtype=np.float16)


def main() -> None:
    """Parse the command and run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    training = commands.add_parser("train")
    training.add_argument("images")
    training.add_argument("run")
    training.add_argument("--network", nargs="+", default=["resnet20"])
    training.add_argument("--seed", type=int, nargs="+", default=[0, 1, 2])
    training.add_argument("--epochs", type=int, default=EPOCHS)
    training.add_argument("--remedy", choices=("groupdro", "upsample"))
    training.add_argument("--step-size", type=float, default=0.01)
    training.set_defaults(run_command=train)
    dividing = commands.add_parser("bands")
    dividing.add_argument("run")
    dividing.add_argument("--network", default="resnet20")
    dividing.add_argument("--above", type=float, default=HARD)
    dividing.set_defaults(run_command=bands)
    collecting = commands.add_parser("collect")
    collecting.add_argument("run")
    collecting.add_argument("out")
    collecting.set_defaults(run_command=collect)
    arguments = parser.parse_args()
    arguments.run_command(arguments)


if __name__ == "__main__":
    main()
