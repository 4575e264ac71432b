"""Checkpoints of ensembles: written epoch by epoch or imported from files, stored once, rejected if invalid."""

import json
from pathlib import Path

import numpy as np
import pytest
from running import snapshot

import regrade
from regrade.classes import class_space
from regrade.core import AlreadyStored, FormatError, InputError, MismatchError, ScoreKind, TestSet, UnknownName
from regrade.formats import read_checkpoint_files
from regrade.metrics import confusion_score
from regrade.store import CheckpointWriter
from regrade.store.array_file import StoredArray
from regrade.store.checkpoints import array_name

SPACE = class_space("cifar-10")
IDS = tuple(f"image {i}" for i in range(6))
RNG = np.random.default_rng(0)
SCORES = RNG.normal(size=(2, 3, 6, 10)).astype(np.float32)


@pytest.fixture
def workspace(tmp_path):
    created = regrade.init(tmp_path / "W")
    created.store.add_test_set(TestSet("six", SPACE, IDS, np.arange(6)))
    return created


def stored(workspace, name="E"):
    return workspace.store.ensembles.read(workspace.store.test_set("six"), name)


def interrupt(*_):
    raise KeyboardInterrupt


def writer(workspace, kind="logits"):
    return workspace.models.checkpoint_writer("E", test_set="six", kind=kind)


class TestCheckpointWriter:
    def test_writer_stores_scores_once_complete(self, workspace):
        unfinished = writer(workspace)
        for seed in range(2):
            for epoch in range(3):
                unfinished.add(SCORES[seed, epoch], seed=seed, epoch=2 * epoch)
        assert workspace.models.ensembles("six") == ()  # not before all are there
        assert unfinished.finish()
        assert workspace.models.ensembles("six") == ("E",)
        checkpoints = stored(workspace)
        assert (checkpoints.members, checkpoints.epochs, checkpoints.kind) == (("0", "1"), (0, 2, 4), ScoreKind.LOGITS)
        assert (checkpoints.scores(1, 2) == SCORES[1, 2].astype(np.float16)).all()
        assert isinstance(checkpoints.scores(1, 2), StoredArray)

    def test_manifest_is_read_once_per_load(self, workspace, monkeypatch):
        workspace.models.add_checkpoints("E", SCORES, test_set="six", kind="logits")
        read, reads = Path.read_bytes, []

        def counted(path: Path) -> bytes:
            reads.append(path.name)
            return read(path)

        monkeypatch.setattr(Path, "read_bytes", counted)
        assert (stored(workspace).scores(1, 2) == SCORES[1, 2].astype(np.float16)).all()
        assert reads.count("manifest.json") == 1

    def test_writer_creates_the_documented_files(self, workspace):
        workspace.models.add_checkpoints("my net", SCORES, test_set="six", kind="logits")
        folder = workspace.store.root / "checkpoints" / "six" / "my net"
        files = {path.relative_to(folder).as_posix() for path in folder.rglob("*.*")}
        assert files == {"manifest.json"} | {f"seed-{s}/epoch-{e:03}.npy" for s in range(2) for e in range(3)}
        manifest = json.loads((folder / "manifest.json").read_text())
        assert (manifest["kind"], manifest["dtype"], manifest["class_space"]) == ("logits", "float16", "cifar-10")
        assert (manifest["members"], manifest["epochs"]) == (["0", "1"], [0, 1, 2])
        assert (manifest["examples"], manifest["classes"]) == (6, 10)
        assert not (workspace.store.root / ".partial").exists()
        assert not (workspace.store.root / ".staging").exists()

    def test_writer_resumes_a_stopped_run(self, workspace):
        first = writer(workspace)
        first.add(SCORES[0, 0], seed=0, epoch=0)
        again = writer(workspace)
        assert again.has(seed=0, epoch=0) and not again.has(seed=0, epoch=1)
        again.add(SCORES[0, 0], seed=0, epoch=0)  # the same is no change
        again.add(SCORES[0, 1], seed=0, epoch=1)
        assert again.finish()
        assert stored(workspace).epochs == (0, 1)
        with pytest.raises(InputError, match="no scores yet"):
            writer(workspace).finish()

    def test_writer_resumes_after_a_kill_before_cleanup(self, workspace, monkeypatch):
        first = writer(workspace)
        first.add(SCORES[0, 0], seed=0, epoch=0)
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(CheckpointWriter, "discard", interrupt)
            first.finish()
        again = writer(workspace)
        assert not again.has(seed=0, epoch=0)
        again.add(SCORES[0, 0], seed=0, epoch=0)
        assert not again.finish()  # the same is stored already
        assert not (workspace.store.root / ".partial").exists()

    def test_add_rejects_other_scores_for_the_same_epoch(self, workspace):
        unfinished = writer(workspace)
        unfinished.add(SCORES[0, 0], seed=0, epoch=0)
        with pytest.raises(AlreadyStored, match="other scores of E, seed 0, epoch 0 were added already"):
            unfinished.add(SCORES[0, 1], seed=0, epoch=0)
        writer(workspace, "log-probabilities").discard()

    def test_the_same_again_is_no_change_and_other_content_is_refused(self, workspace):
        assert workspace.models.add_checkpoints("E", SCORES, test_set="six", kind="logits").new == ("E",)
        before = snapshot(workspace.store.root)
        assert workspace.models.add_checkpoints("E", SCORES, test_set="six", kind="logits").unchanged == ("E",)
        with pytest.raises(AlreadyStored, match="other checkpoints of 'E' on six"):
            workspace.models.add_checkpoints("E", SCORES + 1, test_set="six", kind="logits")
        with pytest.raises(AlreadyStored):
            workspace.models.add_checkpoints("E", SCORES[:1], test_set="six", kind="logits")
        assert snapshot(workspace.store.root) == before

    def test_finish_sorts_seeds_by_number(self, workspace):
        unfinished = writer(workspace)
        for seed in (10, 9, "late"):
            unfinished.add(SCORES[0, 0], seed=seed, epoch=0)
        unfinished.finish()
        assert stored(workspace).members == ("9", "10", "late")

    def test_finish_rejects_seeds_with_different_epochs(self, workspace):
        unfinished = writer(workspace)
        unfinished.add(SCORES[0, 0], seed=0, epoch=0)
        unfinished.add(SCORES[0, 1], seed=0, epoch=1)
        unfinished.add(SCORES[1, 0], seed=1, epoch=0)
        message = "seed 0 has 2, seed 1 has 1, and epoch 1 of seed 1 is missing"
        with pytest.raises(InputError, match=f"every seed needs the same epochs: {message}"):
            unfinished.finish()
        unfinished.add(SCORES[1, 1], seed=1, epoch=1)
        assert unfinished.finish()

    @pytest.mark.parametrize(
        ("scores", "kind", "message"),
        [
            (SCORES[0, 0][:5], "logits", r"shape \(5, 10\): expected \(6, 10\) for six in cifar-10"),
            (SCORES[0, 0].astype(int), "logits", "expected floating-point numbers"),
            (SCORES[0, 0] * 1e5, "logits", "larger than half precision"),
            (SCORES[0, 0], "probabilities", "a probability is negative; are these logits?"),
            (np.abs(SCORES[0, 0]), "probabilities", "add up to .* not to 1"),
            (SCORES[0, 0], "log-probabilities", "add up to .* not to 1"),
            (np.full((6, 10), np.nan), "logits", "E, seed 0, epoch 0, row 1: not a number"),
        ],
    )
    def test_add_rejects_invalid_scores(self, workspace, scores, kind, message):
        with pytest.raises(InputError, match=message):
            writer(workspace, kind).add(scores, seed=0, epoch=0)

    @pytest.mark.parametrize("epoch", [-1, 0.5, True])
    def test_add_rejects_epochs_that_are_not_integers(self, workspace, epoch):
        with pytest.raises(InputError, match="an epoch is a whole number"):
            writer(workspace).add(SCORES[0, 0], seed=0, epoch=epoch)

    def test_writer_rejects_an_unknown_score_kind(self, workspace):
        with pytest.raises(UnknownName, match="scores"):
            writer(workspace, "scores")


class TestCheckpoints:
    def test_checkpoints_suggests_similar_names(self, workspace):
        workspace.models.add_checkpoints("resnet", SCORES, test_set="six", kind="logits")
        with pytest.raises(UnknownName, match="did you mean resnet"):
            stored(workspace, "resnett")

    def test_reader_rejects_another_version_of_the_test_set(self, workspace):
        workspace.models.add_checkpoints("E", SCORES, test_set="six", kind="logits")
        changed_set = TestSet("six", SPACE, IDS, np.arange(6)[::-1].copy())
        with pytest.raises(MismatchError, match="another version of test set"):
            workspace.store.ensembles.read(changed_set, "E")

    def test_damaged_files_are_rejected(self, workspace):
        workspace.models.add_checkpoints("E", SCORES, test_set="six", kind="logits")
        folder = workspace.store.root / "checkpoints" / "six" / "E"
        checkpoints = stored(workspace)
        for left in (b"nothing", b""):
            (folder / array_name("1", 2)).write_bytes(left)
            with pytest.raises(FormatError, match=r"epoch-002\.npy is damaged"):
                confusion_score(checkpoints)
        (folder / "manifest.json").write_text("{}")
        with pytest.raises(FormatError, match=r"manifest\.json is damaged"):
            stored(workspace)


class TestImportCheckpoints:
    def import_path(self, workspace, path, **options):
        options = {"test_set": "six", "ensemble": "E", "kind": "logits"} | options
        return workspace.models.import_checkpoints(path, **options)

    def test_import_reads_one_array(self, workspace, tmp_path):
        np.save(tmp_path / "all.npy", SCORES)
        done = self.import_path(workspace, tmp_path / "all.npy")
        assert done.new and (done.checkpoints.members, done.checkpoints.epochs) == (("0", "1"), (0, 1, 2))
        assert (done.checkpoints.scores(1, 0) == SCORES[1, 0].astype(np.float16)).all()
        assert not self.import_path(workspace, tmp_path / "all.npy").new
        np.save(tmp_path / "one.npy", SCORES[0])
        assert self.import_path(workspace, tmp_path / "one.npy", ensemble="one").checkpoints.members == ("0",)

    @pytest.mark.parametrize(
        "pattern", ["seed-{s}/epoch-{e:03}", "net_seed{s}_epoch{e}", "run{s}/ep_{e}", "Run-{s}_Epoch {e}"]
    )
    def test_import_reads_a_folder(self, workspace, tmp_path, pattern):
        for seed in range(2):
            for place, epoch in enumerate((1, 10, 100)):
                path = tmp_path / "F" / (pattern.format(s=seed, e=epoch) + ".npy")
                path.parent.mkdir(parents=True, exist_ok=True)
                np.save(path, SCORES[seed, place])
        checkpoints = self.import_path(workspace, tmp_path / "F").checkpoints
        assert (checkpoints.members, checkpoints.epochs) == (("0", "1"), (1, 10, 100))
        assert (checkpoints.scores(1, 1) == SCORES[1, 1].astype(np.float16)).all()

    def test_import_reorders_rows_by_ids(self, workspace, tmp_path):
        order = [3, 0, 5, 1, 2, 4]
        (tmp_path / "F").mkdir()
        np.savez(tmp_path / "F" / "epoch1.npz", scores=SCORES[0, 0][order], ids=[IDS[i] for i in order])
        checkpoints = self.import_path(workspace, tmp_path / "F").checkpoints
        assert (checkpoints.scores(0, 0) == SCORES[0, 0].astype(np.float16)).all()
        np.savez(tmp_path / "all.npz", logits=SCORES[:, :, order], ids=[IDS[i] for i in order])
        whole = self.import_path(workspace, tmp_path / "all.npz", ensemble="whole").checkpoints
        assert (whole.scores(1, 2) == SCORES[1, 2].astype(np.float16)).all()

    @pytest.mark.parametrize("rows", [5, 7])
    def test_import_rejects_another_number_of_ids(self, workspace, tmp_path, rows):
        """Otherwise rows without an id would be dropped silently."""
        np.savez(tmp_path / "all.npz", scores=np.zeros((2, 3, rows, 10)), ids=IDS)
        with pytest.raises(FormatError, match=rf"6 ids, but scores of shape \(2, 3, {rows}, 10\)"):
            self.import_path(workspace, tmp_path / "all.npz")

    def test_import_ignores_parts_of_another_run(self, workspace, tmp_path):
        writer(workspace).add(SCORES[1, 1], seed=7, epoch=9)
        np.save(tmp_path / "all.npy", SCORES)
        assert self.import_path(workspace, tmp_path / "all.npy").checkpoints.members == ("0", "1")
        assert writer(workspace).has(seed=7, epoch=9)

    def test_failed_import_leaves_nothing(self, workspace, tmp_path):
        bad = SCORES.copy()
        bad[1, 2, 4, 0] = np.nan
        np.save(tmp_path / "all.npy", bad)
        before = snapshot(workspace.store.root)
        with pytest.raises(InputError, match="E, seed 1, epoch 2, row 5: not a number"):
            self.import_path(workspace, tmp_path / "all.npy")
        assert snapshot(workspace.store.root) == before

    @pytest.mark.parametrize(
        ("files", "message"),
        [
            ({}, "contains no arrays"),
            ({"scores": SCORES[0, 0]}, "must state one epoch"),
            ({"deep_3": SCORES[0, 0]}, "must state one epoch"),
            ({"epoch1_epoch2": SCORES[0, 0]}, "must state one epoch"),
            ({"epoch-1.5": SCORES[0, 0]}, "states the number 1.5: epochs and seeds are whole numbers"),
            ({"seed-0.5_epoch-1": SCORES[0, 0]}, "states the number 0.5: epochs and seeds are whole numbers"),
            ({f"epoch-{'9' * 20}": SCORES[0, 0]}, "an epoch is a whole number from 0 to 1,000,000,000,000, got 9999"),
            ({"seed0_epoch1": SCORES[0, 0], "seed-0_epoch-1": SCORES[0, 0]}, "both state seed 0 and epoch 1"),
            (
                {"seed0_epoch0": SCORES[0, 0], "seed0_epoch1": SCORES[0, 1], "seed1_epoch0": SCORES[1, 0]},
                "every seed needs the same epochs",
            ),
            ({"epoch1": SCORES[0]}, r"shape \(3, 6, 10\): expected \(examples, classes\)"),
        ],
    )
    def test_import_rejects_invalid_folders(self, workspace, tmp_path, files, message):
        (tmp_path / "F").mkdir()
        for name, scores in files.items():
            np.save(tmp_path / "F" / f"{name}.npy", scores)
        with pytest.raises(InputError, match=message):
            self.import_path(workspace, tmp_path / "F")

    def test_import_rejects_invalid_files(self, workspace, tmp_path):
        np.save(tmp_path / "flat.npy", SCORES[0, 0])
        with pytest.raises(FormatError, match=r"expected \(seeds, epochs, examples, classes\)"):
            self.import_path(workspace, tmp_path / "flat.npy")
        np.savez(tmp_path / "odd.npz", weights=SCORES)
        with pytest.raises(FormatError, match="name the array of scores 'scores'"):
            self.import_path(workspace, tmp_path / "odd.npz")
        with pytest.raises(FormatError, match="neither a folder nor an array"):
            list(read_checkpoint_files(tmp_path / "none.txt", workspace.store.test_set("six")))
