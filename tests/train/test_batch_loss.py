"""The loss of a batch: the mean, and GroupDRO compared with a plain restatement of its algorithm."""

import hypothesis.strategies as st
import numpy as np
import pytest
import torch
from hypothesis import given

from regrade.core import InputError
from regrade.train.batch_loss import GroupDRO, MeanLoss


class PlainGroupDRO:
    """Sagawa et al. 2020, Algorithm 1, one group at a time: a group that is absent has loss 0 and no bonus."""

    def __init__(self, groups, step_size, adjustment):
        self.groups, self.step_size, self.adjustment = groups, step_size, adjustment
        self.sizes = [groups.count(group) for group in range(max(groups) + 1)]
        self.q = [1 / len(self.sizes)] * len(self.sizes)

    def loss(self, losses, positions):
        means = []
        for group, size in enumerate(self.sizes):
            own = [loss for loss, position in zip(losses, positions, strict=True) if self.groups[position] == group]
            means.append(sum(own) / len(own) if own else 0.0)
            if own:
                self.q[group] *= np.exp(self.step_size * (means[-1] + self.adjustment / np.sqrt(size)))
        total = sum(self.q)
        self.q = [weight / total for weight in self.q]
        return sum(weight * mean for weight, mean in zip(self.q, means, strict=True))


@given(st.data())
def test_group_dro_equals_a_plain_restatement(data):
    count = data.draw(st.integers(2, 12))
    width = data.draw(st.integers(1, min(count, 4)))
    extra = data.draw(st.lists(st.integers(0, width - 1), min_size=count - width, max_size=count - width))
    groups = data.draw(st.permutations([*range(width), *extra]))
    step_size = data.draw(st.floats(0.01, 2))
    adjustment = data.draw(st.sampled_from([0.0, 0.5, 3.0]))
    ours, plain = (
        GroupDRO(groups, step_size=step_size, adjustment=adjustment),
        PlainGroupDRO(list(groups), step_size, adjustment),
    )
    for _ in range(3):
        positions = data.draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=6))
        losses = [data.draw(st.floats(0, 5)) for _ in positions]
        value = ours(torch.tensor(losses), torch.tensor(positions))
        assert float(value) == pytest.approx(plain.loss(losses, positions), rel=1e-4, abs=1e-5)
        assert ours.weights.tolist() == pytest.approx(plain.q, rel=1e-4, abs=1e-6)


def test_group_dro_by_hand():
    # q = (1/2, 1/2); losses 1 and 3; eta = ln 2: q becomes (2, 8) / 20 = (0.2, 0.8); the loss is 0.2 x 1 + 0.8 x 3
    loss = GroupDRO([0, 1], step_size=float(np.log(2)))
    assert float(loss(torch.tensor([1.0, 3.0]), torch.tensor([0, 1]))) == pytest.approx(2.6)
    assert loss.weights.tolist() == pytest.approx([0.2, 0.8])


def test_group_dro_adjustment_changes_the_weights_and_not_the_losses():
    plain, adjusted = GroupDRO([0, 1, 1, 1], step_size=1.0), GroupDRO([0, 1, 1, 1], step_size=1.0, adjustment=2.0)
    losses, positions = torch.tensor([1.0, 1.0]), torch.tensor([0, 1])
    assert float(plain(losses, positions)) == pytest.approx(1.0)
    assert float(adjusted(losses, positions)) == pytest.approx(1.0)
    assert adjusted.weights[0] > plain.weights[0]  # the smaller group has the larger bonus


def test_group_dro_with_one_group_is_the_mean():
    losses, positions = torch.tensor([0.5, 1.5, 4.0]), torch.tensor([2, 0, 1])
    assert float(GroupDRO([0, 0, 0])(losses, positions)) == pytest.approx(float(MeanLoss()(losses, positions)))


def test_group_dro_does_not_differentiate_its_weights():
    losses = torch.tensor([1.0, 3.0], requires_grad=True)
    loss = GroupDRO([0, 1], step_size=0.5)
    loss(losses, torch.tensor([0, 1])).backward()
    assert losses.grad.tolist() == pytest.approx(loss.weights.tolist())


def test_group_dro_resumes_its_weights():
    first, second = GroupDRO([0, 1], step_size=1.0), GroupDRO([0, 1], step_size=1.0)
    first(torch.tensor([1.0, 3.0]), torch.tensor([0, 1]))
    second.resume(first.state())
    assert second.weights.tolist() == first.weights.tolist()


@pytest.mark.parametrize(
    ("groups", "options", "message"),
    [
        ([], {}, "a group number from 0 on"),
        ([0, -1], {}, "a group number from 0 on"),
        ([0, 2], {}, "group 1 has no training images"),
        ([0, 1], {"step_size": 0.0}, "step size of GroupDRO must be above 0"),
        ([0, 1], {"adjustment": -1.0}, "adjustment not negative"),
    ],
)
def test_group_dro_rejects_bad_input(groups, options, message):
    with pytest.raises(InputError, match=message):
        GroupDRO(groups, **options)
