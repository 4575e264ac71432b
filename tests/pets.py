"""A small test set of six images in the classes of CIFAR-10."""

from pathlib import Path

from running import run_well

IDS = tuple(f"p{i}" for i in range(6))
LABELS = ("cat", "dog", "bird", "cat", "ship", "frog")
ANSWERS = ("cat", "dog", "cat", "cat", "ship", "deer")
CSV = "image,label,first\n" + "".join(f"{i},{t},{a}\n" for i, t, a in zip(IDS, LABELS, ANSWERS, strict=True))


def wide(*answers: str, model: str = "second") -> str:
    """A CSV file with the predictions of one more model."""
    return f"image,{model}\n" + "".join(f"{i},{a}\n" for i, a in zip(IDS, answers or ANSWERS, strict=True))


def make_pets(folder: Path) -> Path:
    """A new workspace with the test set `pets` and its model `first`."""
    workspace, file = folder / "W", folder / "pets.csv"
    file.write_text(CSV)
    run_well("init", workspace)
    run_well("import", "predictions", file, "--test-set", "pets", "--classes", "cifar-10", "-w", workspace)
    return workspace
