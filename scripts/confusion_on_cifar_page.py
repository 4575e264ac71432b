"""Recompute every number and figure of docs/confusion-on-cifar.md, and check or refresh the page.

    python scripts/confusion_on_cifar_page.py ../shared/data            # check the numbers of the page
    python scripts/confusion_on_cifar_page.py ../shared/data --write    # refresh its numbers and figures

It reads docs/data (scores of our ensembles, see confusion_on_cifar.py) and published predictions and answers. In
the page, a number or a table is marked by comments with its name: <!--tau-->0.88<!--/-->.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import log2
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from regrade.core import Estimate, InputError, ScoreKind
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.display.figure import Figure
from regrade.display.lazy_altair import altair
from regrade.display.parts import heading, inline, interval, interval_text, layered, name_axis, percent, percent_axis
from regrade.display.style import COLORS, SHAPES, WIDTH
from regrade.metrics import human_entropies
from regrade.stats import (
    ErrorRanking,
    accuracy_covariance,
    auroc_difference,
    bonferroni_confidence,
    bounded_mean,
    kendall,
    proportion,
    rank_errors,
    robust_pearson,
    two_way_mean,
)
from regrade.studies.confusion.distribution import ScoreBins, distribution, error_curve, peak, skewness
from regrade.studies.confusion.findings import worth_findings
from regrade.studies.confusion.graded_models import GradedModel
from regrade.studies.confusion.paper_figures import paper_figures
from regrade.studies.confusion.reduced_checkpoints import RankAgreement, StridedScore
from regrade.studies.confusion.result import ConfusedModel, Confusion, EnsembleSummary, ScoredEnsemble, TrainingSet
from regrade.studies.confusion.rivals import (
    CONFUSION,
    HUMAN,
    ImageScore,
    Rival,
    TrainingCost,
    compare_rivals,
    error_share,
)

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE, FIGURES = DOCS / "confusion-on-cifar.md", DOCS / "figures"
FILES = "confusion-on-cifar"
"""How the names of data files and figures begin."""

SMALL, LARGE, UPSAMPLING = "resnet20", "resnet56", "resnet20-upsample"
GROUP_DRO, SLOWER_DRO, SLOWEST_DRO = "resnet20-groupdro", "resnet20-groupdro-1e-3", "resnet20-groupdro-1e-4"
REMEDIES = (GROUP_DRO, SLOWER_DRO, SLOWEST_DRO, UPSAMPLING)
NAMES = {
    SMALL: "ResNet-20",
    LARGE: "ResNet-56",
    GROUP_DRO: "ResNet-20, GroupDRO, step 0.01",
    SLOWER_DRO: "ResNet-20, GroupDRO, step 0.001",
    SLOWEST_DRO: "ResNet-20, GroupDRO, step 0.0001",
    UPSAMPLING: "ResNet-20, upsampling",
}
SEEDS, EPOCHS, CLASSES = 3, 100, 10
CHECKPOINTS = EPOCHS + 1
"""Before the first epoch and after every epoch."""
STORED = 21
"""Epochs with stored probabilities: every fifth."""
EARLY = 3
"""Stored epochs of EL2N: 0, 5 and 10."""
TOP = log2(CLASSES)
HARD = TOP / 2
"""From this score on an image is hard: the middle of the range, as in the paper."""
BINS = ScoreBins(0.1, TOP)
EDGES = (0.0, 0.5, 1.0, 1.5, 2.0, TOP)
"""Bands of the table of errors by score."""
CONFIDENCE = 0.95
SEED = 0
"""Of the bootstrap of correlations over bins."""
MARKED = re.compile(r"<!--([\w-]+)-->(.*?)<!--/-->", re.DOTALL)
LAST, VARIABILITY = "entropy after the last epoch, all members", "variability, one member"


@dataclass(frozen=True, eq=False)
class CifarScores:
    """Our scores of the test images, and the published labels (n,), errors (n,) of models, and human entropy (n,).

    ``curves`` (3, 100) are the accuracies while training, and ``hard_weights`` (3,) the last weights that GroupDRO gave
    to the hard group, NaN where they were not recorded; both by network.
    """

    columns: Mapping[str, FloatArray]
    train: FloatArray
    curves: Mapping[str, FloatArray]
    hard_weights: Mapping[str, FloatArray]
    labels: IntArray
    outside: Mapping[str, BoolArray]
    human: FloatArray

    @classmethod
    def read(cls, published: Path, own: Path = DOCS / "data") -> CifarScores:
        """Read both folders."""
        test, train, curves = (pq.read_table(own / f"{FILES}-{part}.parquet") for part in ("test", "train", "curves"))
        models = pq.read_table(published / "recht2019" / "cifar10.test.top1.parquet")
        labels = models["label"].to_numpy().astype(np.int64)
        counts = pq.read_table(published / "cifar10" / "human-counts.parquet").drop_columns(["index"])
        outside = {name: models[name].to_numpy() != labels for name in models.column_names[2:]}
        human = human_entropies(np.stack([column.to_numpy() for column in counts.columns], axis=1).astype(np.float64))
        accuracies, weights = (_by_network(curves, column) for column in ("accuracy", "hard_weight"))
        last = {name: values[:, -1] for name, values in weights.items()}
        return cls(_arrays(test), _arrays(train)["resnet20_score"], accuracies, last, labels, outside, human)

    def score(self, network: str) -> FloatArray:
        """Shape (n,): the confusion score of an ensemble, from all epochs."""
        return self.columns[f"{network}_score"]

    def wrong(self, network: str) -> BoolArray:
        """Shape (3, n): the errors of each seed after the last epoch."""
        return np.stack([self.columns[f"{network}_seed_{seed}"] != self.labels for seed in range(SEEDS)])

    def ensemble_wrong(self, network: str) -> BoolArray:
        """Shape (n,): the errors of the mean of the members."""
        return np.asarray(self.columns[f"{network}_ensemble"] != self.labels)

    @cached_property
    def errors(self) -> FloatArray:
        """Shape (n,): the share of the outside models that err on each image."""
        wrong = np.stack(list(self.outside.values()))
        return error_share(wrong, np.ones_like(wrong))


def _arrays(table: Any) -> dict[str, FloatArray]:
    names = [name for name in table.column_names if name != "image"]
    arrays = {name: table[name].to_numpy() for name in names}
    return {name: values.astype(np.float64) if values.dtype.kind == "f" else values for name, values in arrays.items()}


def _by_network(curves: Any, column: str) -> dict[str, FloatArray]:
    """A column of the learning curves (3, 100), by network; NaN where it is empty."""
    networks, values = np.array(curves["network"].to_pylist()), curves[column].to_numpy()
    return {name: values[networks == name].reshape(SEEDS, EPOCHS) for name in NAMES}


# The study, from reduced scores


def study(data: CifarScores, network: str = SMALL) -> Confusion:
    """The result of the confusion study for one ensemble."""
    scores = data.score(network)
    seeds = tuple(str(seed) for seed in range(SEEDS))
    ensemble = ScoredEnsemble(
        NAMES[network], seeds, tuple(range(CHECKPOINTS)), ScoreKind.PROBABILITIES, CLASSES, 2.0
    )  # fmt: skip
    compared = {NAMES[name]: data.score(name) for name in (SMALL, LARGE)}
    tau = kendall(*compared.values(), confidence=CONFIDENCE)
    return Confusion(
        "the CIFAR-10 test set",
        ensemble,
        [str(place) for place in range(len(scores))],
        CONFIDENCE,
        scores,
        BINS,
        distribution(scores, BINS, confidence=CONFIDENCE),
        outside_models(data, scores),
        (RankAgreement(NAMES[SMALL], NAMES[LARGE], tau),),
        (),
        None,
        None,
        None,
        compared=compared,
        ensembles=tuple(summary(data, name) for name in (SMALL, LARGE)),
        strides=tuple(strides(data, network)),
        rivals=rivals(data, network),
        train=training_set(data) if network == SMALL else None,
    )


def outside_models(data: CifarScores, scores: FloatArray) -> tuple[ConfusedModel, ...]:
    """The published models with their errors by score, best first."""
    rng = np.random.default_rng(SEED)
    rows = [
        ConfusedModel(
            name,
            False,
            proportion(int(wrong.sum()), len(wrong), confidence=CONFIDENCE),
            error_curve(scores, wrong, BINS, rng=rng, confidence=CONFIDENCE),
            None,
        )
        for name, wrong in data.outside.items()
    ]
    return tuple(sorted(rows, key=lambda row: (row.error.value, row.model)))


def summary(data: CifarScores, network: str) -> EnsembleSummary:
    """Mean score, skewness, and the accuracy of the members' mean."""
    scores, wrong = data.score(network), data.ensemble_wrong(network)
    accuracy = proportion(int((~wrong).sum()), len(wrong), confidence=CONFIDENCE)
    mean = bounded_mean(scores, largest=TOP, confidence=CONFIDENCE)
    return EnsembleSummary(NAMES[network], SEEDS, CHECKPOINTS, mean, skewness(scores), accuracy)


def training_set(data: CifarScores) -> TrainingSet:
    """The scores of the training images."""
    own = distribution(data.train, BINS, confidence=CONFIDENCE)
    return TrainingSet("the CIFAR-10 training set", len(data.train), own)


def strides(data: CifarScores, network: str) -> list[StridedScore]:
    """The score from fewer epochs: of all members, and of the first one, which has every fifth epoch."""
    kept = {1: f"{network}_score"} | {stride: f"{network}_every_{stride}" for stride in (3, 5, 10, 20)}
    single = {5: f"{network}_member_0"} | {stride: f"{network}_member_0_every_{stride}" for stride in (10, 20)}
    return [
        _strided(data, stride, members, data.columns[column])
        for members, columns in ((SEEDS, kept), (1, single))
        for stride, column in columns.items()
    ]


def _strided(data: CifarScores, stride: int, members: int, scores: FloatArray) -> StridedScore:
    epochs = len(range(0, CHECKPOINTS, stride))
    counts = np.bincount(BINS.of(scores), minlength=BINS.count)
    correlation = robust_pearson(scores, data.errors, confidence=CONFIDENCE)
    return StridedScore(
        stride, epochs, members, TOP / epochs, peak(scores, BINS), tuple(counts.tolist()), correlation
    )  # fmt: skip


def rivals(data: CifarScores, network: str) -> tuple[Rival, ...]:
    """The confusion score and its rivals, compared by the errors of the published models."""
    everywhere = np.ones(len(data.labels), dtype=bool)
    models = [GradedModel(data.labels, "cifar-10", wrong, everywhere) for wrong in data.outside.values()]
    return compare_rivals(image_scores(data, network), models, confidence=CONFIDENCE)


def image_scores(data: CifarScores, network: str) -> list[ImageScore]:
    """The scores with their costs, high for hard images; the first is the confusion score."""

    def column(name: str) -> FloatArray:
        return data.columns[f"{network}_{name}"]

    one_model, one_stored = TrainingCost(1, EPOCHS, 1), TrainingCost(1, EPOCHS, STORED)
    full = SEEDS * EPOCHS
    early = TrainingCost(SEEDS, SEEDS * 10, SEEDS * EARLY)
    return [
        ImageScore(CONFUSION, column("score"), TrainingCost(SEEDS, full, SEEDS * CHECKPOINTS)),
        ImageScore("confusion score, every 5th epoch", column("every_5"), TrainingCost(SEEDS, full, SEEDS * STORED)),
        ImageScore("confusion score, every 20th epoch", column("every_20"), TrainingCost(SEEDS, full, SEEDS * 6)),
        ImageScore("confusion score of one member, every 5th epoch", column("member_0"), one_stored),
        ImageScore(LAST, column("last_entropy"), TrainingCost(SEEDS, full, 3)),
        ImageScore("entropy after the last epoch, one member", column("member_0_last_entropy"), one_model),
        ImageScore("margin after the last epoch, one member", -column("member_0_margin"), one_model),
        ImageScore("EL2N of epochs 0, 5 and 10", column("el2n"), early, uses_labels=True),
        ImageScore("AUM, one member", -column("member_0_aum"), one_stored, uses_labels=True),
        ImageScore("confidence, one member", -column("member_0_confidence"), one_stored, uses_labels=True),
        ImageScore(VARIABILITY, column("member_0_variability"), one_stored, uses_labels=True),
        ImageScore(HUMAN, data.human, None),
    ]


@dataclass(frozen=True)
class ScoreChange:
    """The AUROC of errors of one score minus that of another one."""

    what: str
    change: Estimate


def members_and_epochs(data: CifarScores, network: str) -> list[ScoreChange]:
    """What three members add to one, and every fifth epoch to the last one; the four intervals are simultaneous."""
    wrong = np.stack(list(data.outside.values()))

    def ranking(column: str) -> ErrorRanking:
        return rank_errors(data.columns[f"{network}_{column}"], wrong)

    three, three_last = ranking("every_5"), ranking("last_entropy")
    single, single_last = ranking("member_0"), ranking("member_0_last_entropy")
    pairs = {
        "three members instead of one, after the last epoch": (three_last, single_last),
        f"three members instead of one, {STORED} epochs": (three, single),
        f"{STORED} epochs instead of the last one, three members": (three, three_last),
        f"{STORED} epochs instead of the last one, one member": (single, single_last),
    }
    level = bonferroni_confidence(len(pairs), CONFIDENCE)
    return [ScoreChange(what, auroc_difference(*pair, confidence=level)) for what, pair in pairs.items()]


# The remedies, by seeds and images


@dataclass(frozen=True)
class RemedyBand:
    """Images of one band: the error before and after a remedy, and the change, all over seeds and images."""

    remedy: str
    band: str
    images: int
    before: Estimate
    after: Estimate
    change: Estimate


def mean_over_seeds(correct: BoolArray, *, confidence: float = CONFIDENCE) -> Estimate:
    """The mean of shares over seeds (m, n), with an interval over seeds and images."""
    return two_way_mean(correct.mean(axis=1), accuracy_covariance(correct), confidence=confidence)


def paired_change(before: BoolArray, after: BoolArray, *, confidence: float) -> Estimate:
    """The mean over seeds (m, n) of the error after minus that before, paired by seed and by image."""
    seeds = len(before)
    contrast = np.hstack([np.eye(seeds), -np.eye(seeds)])
    covariance = contrast @ accuracy_covariance(np.vstack([after, before])) @ contrast.T
    return two_way_mean(after.mean(axis=1) - before.mean(axis=1), covariance, confidence=confidence)


def remedy_bands(data: CifarScores, scored_by: str = SMALL) -> list[RemedyBand]:
    """Both remedies on easy and on hard images by an ensemble's score; the changes of a remedy are simultaneous."""
    hard = data.score(scored_by) >= HARD
    level = bonferroni_confidence(2, CONFIDENCE)
    before = data.wrong(SMALL)
    return [
        RemedyBand(
            remedy,
            band,
            int(inside.sum()),
            mean_over_seeds(before[:, inside]),
            mean_over_seeds(after[:, inside]),
            paired_change(before[:, inside], after[:, inside], confidence=level),
        )
        for remedy in REMEDIES
        for after in [data.wrong(remedy)]
        for band, inside in (("easy", ~hard), ("hard", hard))
    ]


# The numbers and tables of the page


def page_values(data: CifarScores, result: Confusion, large: Confusion) -> dict[str, str]:
    """What stands in the page, by name."""
    return {
        **_accuracy_values(data),
        **_score_values(data, result),
        **_error_values(data, result),
        **_stride_values(data, result),
        **_rival_values(data, result, large),
        **_remedy_values(data),
    }


def _accuracy_values(data: CifarScores) -> dict[str, str]:
    rows = []
    for network, name in NAMES.items():
        right = ~data.wrong(network)
        single = ", ".join(f"{100 * share:.1f}" for share in right.mean(axis=1))
        mean = "–" if network not in (SMALL, LARGE) else str(_ensemble_accuracy(data, network))
        rows.append((name, str(mean_over_seeds(right)), single, mean))
    models = {name: float((~wrong).mean()) for name, wrong in data.outside.items()}
    return {
        "accuracies": table(("network", "accuracy, in %", "single seeds", "mean of the three members"), rows),
        "small-accuracy": _percent(1 - data.wrong(SMALL).mean()),
        "large-accuracy": _percent(1 - data.wrong(LARGE).mean()),
        "outside-32": _percent(models["resnet_basic_32"]),
        "outside-56": _percent(models["resnet_basic_56"]),
        "train-small": _percent(data.curves[SMALL][:, -1].mean()),
        "train-large": _percent(data.curves[LARGE][:, -1].mean()),
    }


def _ensemble_accuracy(data: CifarScores, network: str) -> Estimate:
    right = ~data.ensemble_wrong(network)
    return proportion(int(right.sum()), len(right), confidence=CONFIDENCE)


def _score_values(data: CifarScores, result: Confusion) -> dict[str, str]:
    rows = [
        (row.ensemble, numbers(row.mean), f"{row.skewness:.2f}", f"{int((scores >= HARD).sum()):,}",
         numbers(kendall(scores, data.human)), numbers(robust_pearson(scores, data.human)))
        for row, scores in zip(result.ensembles, result.compared.values(), strict=True)
    ]  # fmt: skip
    members = [data.columns[f"{SMALL}_member_{seed}"] for seed in range(SEEDS)]
    taus = [kendall(members[i], members[j]).value for i, j in ((0, 1), (0, 2), (1, 2))]
    tau = result.agreements[0].tau
    return {
        "scores": table(
            ("ensemble", "mean score, in bits", "skewness", f"images of {HARD:.2f} bits or more",
             "Kendall's tau with human entropy", "Pearson's r with human entropy"), rows,
        ),
        "tau": numbers(tau, 3),
        "member-taus": f"{min(taus):.2f} to {max(taus):.2f}",
        "skewness-train": f"{skewness(data.train):.2f}",
        "mean-train": f"{data.train.mean():.2f}",
        "human-certain": _percent((data.human == 0).mean(), 0),
    }  # fmt: skip


def _error_values(data: CifarScores, result: Confusion) -> dict[str, str]:
    models, scores = result.outsiders, result.scores
    named = {"best": models[0], "median": models[len(models) // 2], "worst": models[-1]}
    rows = []
    for low, high in pairwise(EDGES):
        inside = (scores >= low) & ((scores < high) | (high == TOP))
        mean = bounded_mean(data.errors[inside], largest=1.0, confidence=CONFIDENCE)
        single = [data.outside[model.model][inside] for model in named.values()]
        errors = [proportion(int(wrong.sum()), len(wrong), confidence=CONFIDENCE) for wrong in single]
        rows.append((f"{low:g} to {high:.3g}", f"{inside.sum():,}", *(str(error) for error in (mean, *errors))))
    header = ("score, in bits", "images", "30 models", *(f"{word}: `{row.model}`" for word, row in named.items()))
    single_image = [row.curve.single.value for row in models if row.curve.single]
    over_bins = [row.curve.binned.value for row in models if row.curve.binned]
    return {
        "errors": table(header, rows),
        "errors-r": numbers(robust_pearson(scores, data.errors), 2),
        "errors-r-models": f"{min(single_image):.2f} to {max(single_image):.2f}",
        "errors-r-bins": f"{min(over_bins):.2f} to {max(over_bins):.2f}",
        "errors-auroc": numbers(result.rivals[0].auroc, 3),
    }


def _stride_values(data: CifarScores, result: Confusion) -> dict[str, str]:
    rows = [
        (str(row.members), str(row.epochs), f"{row.peak:.2f}", f"{row.easy_score:.2f}",
         numbers(row.error_correlation, 3))
        for row in result.strides
    ]  # fmt: skip
    first = {name: data.columns[f"{network}_first_entropy"] for name, network in (("small", SMALL), ("large", LARGE))}
    return {
        "strides": table(
            ("members", "epochs", "peak, in bits", "log2(10) / epochs", "r with the errors of models"), rows
        ),
        **{f"first-{name}": f"{values.mean():.2f}" for name, values in first.items()},
        **{f"first-{name}-deviation": f"{values.std():.2f}" for name, values in first.items()},
    }


def _rival_values(data: CifarScores, result: Confusion, large: Confusion) -> dict[str, str]:
    rows = [
        (row.score, "yes" if row.uses_labels else "no", *_cost(row.cost), numbers(row.auroc, 3),
         signed(row.difference), numbers(of_large.auroc, 3), numbers(row.human_tau))
        for row, of_large in zip(result.rivals, large.rivals, strict=True)
    ]  # fmt: skip
    header = (
        "score", "uses labels", "training epochs", "checkpoints", "AUROC of errors", "minus confusion",
        "AUROC, from ResNet-56", "tau with human entropy",
    )  # fmt: skip
    both = zip(*(members_and_epochs(data, network) for network in (SMALL, LARGE)), strict=True)
    changes = [(first.what, signed(first.change), signed(second.change)) for first, second in both]
    return {
        "rivals": table(header, rows),
        "members-epochs": table(("AUROC of errors", *(NAMES[network] for network in (SMALL, LARGE))), changes),
        "last-auroc": numbers(_rival(result, LAST).auroc, 3),
        "last-difference": signed(_rival(result, LAST).difference),
        "variability-auroc": numbers(_rival(result, VARIABILITY).auroc, 2),
        "worth-small": _sentence(result),
        "worth-large": _sentence(large),
    }


def _rival(result: Confusion, score: str) -> Rival:
    return next(row for row in result.rivals if row.score == score)


def _sentence(result: Confusion) -> str:
    return f"{worth_findings(result)[0].headline}."


def _cost(cost: TrainingCost | None) -> tuple[str, str]:
    return ("–", "–") if cost is None else (f"{cost.training_epochs:,}", f"{cost.checkpoints:,}")


def _remedy_values(data: CifarScores) -> dict[str, str]:
    def rows(bands: Sequence[RemedyBand]) -> list[tuple[str, ...]]:
        return [
            (
                NAMES[row.remedy],
                f"{row.band} ({row.images:,})",
                str(row.before),
                str(row.after),
                points(row.change),
            )
            for row in bands
        ]

    header = ("after", "images", "error before, in %", "error after, in %", "change, in points")
    final, bands = data.curves[GROUP_DRO][:, -1], remedy_bands(data)
    words = {GROUP_DRO: "dro", SLOWER_DRO: "slower", SLOWEST_DRO: "slowest", UPSAMPLING: "up"}
    return {
        "bands": table(header, rows(bands)),
        **{f"{words[row.remedy]}-{row.band}": points(row.change) for row in bands},
        "bands-large": table(header, rows(remedy_bands(data, LARGE))),
        "hard-images": f"{int((data.score(SMALL) >= HARD).sum()):,}",
        "dro-early": _percent(data.curves[GROUP_DRO][:, 4].mean()),
        "dro-lowest": _percent(data.curves[GROUP_DRO].mean(axis=0).min()),
        "dro-lowest-epoch": str(int(data.curves[GROUP_DRO].mean(axis=0).argmin()) + 1),
        "dro-final": f"{100 * final.min():.0f} to {100 * final.max():.0f}",
        "weight-slower": f"{data.hard_weights[SLOWER_DRO].mean():.2f}",
        "weight-slowest": f"{data.hard_weights[SLOWEST_DRO].mean():.2f}",
    }


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table on lines of its own."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n" + "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def numbers(estimate: Estimate | None, digits: int = 2, *, sign: str = "") -> str:
    """An estimate that is not a share, with its interval."""
    if estimate is None:
        return "–"
    parts = (estimate.value, estimate.low, estimate.high)
    value, low, high = (f"{part:{sign}z.{digits}f}".replace("-", "−") for part in parts)
    return f"{value} [{low}, {high}]"


def signed(estimate: Estimate | None) -> str:
    """A difference with its interval."""
    return numbers(estimate, 3, sign="+")


def points(estimate: Estimate) -> str:
    """A difference of shares with its interval, in percentage points."""
    value, low, high = (100 * part for part in (estimate.value, estimate.low, estimate.high))
    return numbers(replace(estimate, value=value, low=low, high=high), 1, sign="+")


def _percent(share: float, digits: int = 1) -> str:
    return f"{100 * share:.{digits}f}"


# The figures


def figures(data: CifarScores, result: Confusion) -> dict[str, Figure]:
    """The figures of the page by file name."""
    drawn = paper_figures(replace(result, rivals=tuple(row for row in result.rivals if row.score != VARIABILITY)))
    # one member has every fifth epoch only, and the grid of histograms needs every stride for both
    both = tuple(row for row in result.strides if row.stride >= 5)
    drawn |= {"figure-5-strides": paper_figures(replace(result, strides=both))["figure-5-strides"]}
    names = {
        "distribution": "figure-2-distribution", "ensembles": "figure-3-ensembles", "errors": "figure-4-error-by-score",
        "strides": "figure-5-strides", "correlations": "figure-6-correlations", "rivals": "rivals",
    }  # fmt: skip
    chosen = {name: drawn[source] for name, source in names.items()} | {
        "bands": band_figure(remedy_bands(data)),
        "curves": curve_figure(data),
    }
    return {f"{FILES}-{name}.svg": figure for name, figure in chosen.items()}


def band_figure(bands: Sequence[RemedyBand]) -> Figure:
    """Errors on easy and on hard images with and without the remedies."""
    rows: list[dict[str, Any]] = []
    for row in bands:
        band = f"{row.band} ({row.images:,} images)"
        estimates = {row.remedy: row.after} | ({SMALL: row.before} if row.remedy == GROUP_DRO else {})
        rows += [
            {"band": band, "network": NAMES[network], **interval(error), "shown": interval_text(error)}
            for network, error in estimates.items()
        ]
    bands_shown = list(dict.fromkeys(row["band"] for row in rows))
    networks = [NAMES[network] for network in (SMALL, UPSAMPLING, SLOWEST_DRO, SLOWER_DRO, GROUP_DRO)]
    base = altair.Chart(inline(rows)).encode(
        y=altair.Y("band:N", sort=bands_shown, axis=name_axis(2), scale=altair.Scale(paddingInner=0.4)),
        yOffset=altair.YOffset("network:N", sort=networks),
        color=_by_color("network", networks),
        tooltip=[altair.Tooltip("network:N"), altair.Tooltip("band:N"), altair.Tooltip("shown:N", title="error")],
    )
    shape = altair.Shape(
        "network:N", sort=networks, scale=altair.Scale(domain=networks, range=list(SHAPES[: len(networks)]))
    )
    x = altair.X("value:Q", axis=percent_axis("error"), scale=altair.Scale(domain=[0, 100], nice=False))
    chart = layered(
        base.mark_rule(strokeWidth=3, opacity=0.5).encode(x="value_low:Q", x2="value_high:Q"),
        base.mark_point(size=70).encode(x=x, shape=shape),
    ).properties(width=WIDTH - 60, height=220)
    title = "GroupDRO raises the error on easy and on hard images, at every step size"
    subtitle = (
        f"Errors below and above a confusion score of {HARD:.2f} bits, means of three seeds with 95% intervals over "
        "seeds and images"
    )
    return Figure("remedies by band", f"{title}. {subtitle}.", chart.properties(title=heading(title, subtitle)))


def curve_figure(data: CifarScores) -> Figure:
    """The accuracy on the training images while training, one line per seed."""
    rows = [
        {"network": NAMES[network], "seed": seed, "epoch": epoch + 1, "accuracy": percent(accuracy)}
        for network, curves in data.curves.items()
        for seed, curve in enumerate(curves)
        for epoch, accuracy in enumerate(curve.tolist())
    ]
    networks = list(NAMES.values())
    chart = (
        altair.Chart(inline(rows))
        .mark_line(strokeWidth=1.2)
        .encode(
            x=altair.X("epoch:Q", axis=altair.Axis(title="epoch"), scale=altair.Scale(domain=[0, EPOCHS], nice=False)),
            y=altair.Y("accuracy:Q", axis=percent_axis("accuracy"), scale=altair.Scale(domain=[0, 100], nice=False)),
            detail="seed:N",
            color=_by_color("network", networks),
            strokeDash=altair.StrokeDash(
                "network:N",
                sort=networks,
                scale=altair.Scale(domain=networks, range=[[1, 0], [6, 2], [2, 2], [3, 2], [4, 2], [8, 2, 2, 2]]),
            ),
        )
        .properties(width=WIDTH, height=260)
    )
    title = "With GroupDRO the networks learn less of the training set"
    subtitle = (
        "Accuracy on the training images of each epoch while the weights change, three seeds each; with upsampling "
        "half of the drawn images are hard"
    )
    return Figure("training curves", f"{title}. {subtitle}.", chart.properties(title=heading(title, subtitle)))


def _by_color(field: str, names: Sequence[str]) -> Any:
    return altair.Color(
        f"{field}:N",
        sort=list(names),
        scale=altair.Scale(domain=list(names), range=[COLORS[list(NAMES.values()).index(name)] for name in names]),
        legend=altair.Legend(title=None, columns=3, labelLimit=260, symbolOpacity=1),
    )


# The page


def refreshed(text: str, values: Mapping[str, str]) -> str:
    """The page with current numbers; a name without a value, or a value without a place, raises."""
    names = {match[1] for match in MARKED.finditer(text)}
    if names != set(values):
        raise InputError(f"the page and the script differ in {', '.join(sorted(names ^ set(values)))}")
    return MARKED.sub(lambda match: f"<!--{match[1]}-->{values[match[1]]}<!--/-->", text)


def main(published: Path, *, write: bool) -> int:
    """Check or refresh; the exit code is 1 if the page is out of date."""
    data = CifarScores.read(published)
    result, large = study(data), study(data, LARGE)
    current = PAGE.read_text(encoding="utf-8")
    text = refreshed(current, page_values(data, result, large))
    if write:
        PAGE.write_text(text, encoding="utf-8")
        for name, figure in figures(data, result).items():
            print(figure.save(FIGURES / name))
        return 0
    is_current = text == current
    print("the page is up to date" if is_current else f"{PAGE.name} is out of date: run again with --write")
    return 0 if is_current else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("published", type=Path)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    sys.exit(main(arguments.published, write=arguments.write))
