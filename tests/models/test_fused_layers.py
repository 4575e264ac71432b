"""Fused layers compute what the layers did; here on the CPU, with plain calls in place of those of the GPU."""

import pytest

from regrade.models.fused_layers import convolution_add_relu, convolution_relu, with_fused_layers

torch = pytest.importorskip("torch")
nn = torch.nn


def normalization(channels):
    layer = nn.BatchNorm2d(channels)
    with torch.no_grad():
        layer.running_mean.normal_()
        layer.running_var.uniform_(0.5, 2)
        layer.weight.uniform_(0.5, 2)
        layer.bias.normal_()
    return layer


class Residual(nn.Module):
    """A residual block between a stem and a last layer; ``change`` replaces parts of it."""

    def __init__(self, **change):
        super().__init__()
        self.stem = nn.Conv2d(3, 4, 3, stride=2, padding=1, bias=False)
        self.stem_norm = normalization(4)
        self.act = nn.ReLU(inplace=True)
        self.first = nn.Conv2d(4, 4, 3, padding=1)
        self.norm = normalization(4)
        self.drop = nn.Dropout()
        self.down = nn.Sequential(nn.Conv2d(4, 4, 1), normalization(4))
        self.last = nn.Linear(4, 5)
        for name, part in change.items():
            setattr(self, name, part)

    def forward(self, images):
        x = self.act(self.stem_norm(self.stem(images)))
        y = self.drop(self.norm(self.first(x)))
        y += self.down(x)
        return self.last(torch.relu(y).mean((2, 3)))


def calls(module):
    return [node.target for node in module.graph.nodes if node.op == "call_function"]


def difference(module, images=None):
    """The largest difference between a module's outputs and those with fused layers."""
    images = torch.randn(3, 3, 9, 7) if images is None else images
    with torch.inference_mode():
        return float((with_fused_layers(module)(images) - module(images.clone())).abs().max())


def test_one_channel_by_hand():
    norm = nn.BatchNorm2d(1)
    with torch.no_grad():
        norm.running_mean.fill_(3)
        norm.running_var.fill_(4 - norm.eps)
        norm.weight.fill_(6)
        norm.bias.fill_(1)
        convolution = nn.Conv2d(1, 1, 1)
        convolution.weight.fill_(2)
        convolution.bias.fill_(5)
    fused = with_fused_layers(nn.Sequential(convolution, norm, nn.ReLU()).eval())
    images = torch.tensor([1.0, -4.0]).reshape(2, 1, 1, 1)
    # (2 * 1 + 5 - 3) / 2 * 6 + 1 = 13, and (2 * -4 + 5 - 3) / 2 * 6 + 1 = -17, which ReLU makes 0
    assert fused(images).detach().flatten().tolist() == pytest.approx([13, 0])
    assert calls(fused) == [convolution_relu]


def test_a_residual_block_becomes_one_call_per_convolution():
    torch.manual_seed(0)
    block = Residual().eval()
    fused = with_fused_layers(block)
    assert calls(fused) == [convolution_relu, convolution_add_relu]
    assert not any(isinstance(layer, nn.BatchNorm2d) for layer in map(fused.get_submodule, targets(fused)))
    assert difference(block) < 1e-5
    assert any(isinstance(layer, nn.BatchNorm2d) for layer in block.modules())  # the module itself is as it was


def targets(module):
    return [node.target for node in module.graph.nodes if node.op == "call_module"]


@pytest.mark.parametrize(
    "change",
    [
        {"first": nn.Conv2d(4, 4, 3, padding="same")},
        {"first": nn.Conv2d(4, 4, 3, padding=1, padding_mode="reflect")},
        {"first": nn.Conv2d(4, 4, 3, padding=2, dilation=2, groups=2)},
        {"act": nn.Sigmoid()},
        {"norm": nn.BatchNorm2d(4, track_running_stats=False)},
        {"norm": nn.GroupNorm(2, 4)},
        {"down": nn.Identity()},
        {"down": nn.AdaptiveAvgPool2d(1)},  # a shortcut that is broadcast
        {"drop": nn.Sequential(nn.Identity(), nn.MaxPool2d(3, 1, 1))},
    ],
    ids=str,
)
def test_outputs_stay_the_same_for_other_layers(change):
    torch.manual_seed(1)
    assert difference(Residual(**change).eval()) < 1e-5


def test_a_convolution_that_is_used_twice_keeps_its_weights():
    class Twice(Residual):
        def forward(self, images):
            x = self.stem_norm(self.stem(images))
            return self.last((self.act(x) + self.norm(self.stem(images))).mean((2, 3)))

    torch.manual_seed(2)
    assert with_fused_layers(Twice().eval()) is None


def test_outputs_of_a_convolution_that_are_used_twice_stay():
    class Branches(Residual):
        def forward(self, images):
            x = self.stem(images)
            return self.last((torch.relu(x) + x).mean((2, 3)))

    torch.manual_seed(3)
    assert with_fused_layers(Branches().eval()) is None


def test_layers_with_hooks_stay():
    torch.manual_seed(4)
    block = Residual().eval()
    block.first.register_forward_hook(lambda *_: None)
    assert calls(with_fused_layers(block))[0] is convolution_relu
    assert "0.norm" in targets(with_fused_layers(block))
    assert difference(block) < 1e-5


def shortcut_changed_in_place(self, x):
    shortcut = x
    x += self.first(x)
    return torch.relu(x) + shortcut


def input_changed_in_place_before_the_relu(self, x):
    y = self.first(x)
    self.act(x)
    return torch.relu(y)


def input_changed_in_place_before_the_sum(self, x):
    shortcut = self.down(x)
    return torch.relu(shortcut + self.drop(self.act(x)))


def weights_read(self, x):
    return self.norm(self.first(x)) + nn.functional.conv2d(torch.relu(self.down(x)), self.first.weight, padding=1)


@pytest.mark.parametrize(
    "body",
    [
        shortcut_changed_in_place,
        input_changed_in_place_before_the_relu,
        input_changed_in_place_before_the_sum,
        weights_read,
    ],
)
def test_outputs_stay_the_same_where_fusing_would_change_what_others_see(body):
    class Other(Residual):
        def forward(self, images):
            return self.last(body(self, torch.relu(self.stem(images)) - 1).mean((2, 3)))

    torch.manual_seed(5)
    assert difference(Other().eval()) < 1e-5


def test_hooks_of_the_module_itself_are_kept():
    torch.manual_seed(6)
    block = Residual().eval()
    block.register_forward_hook(lambda _module, _inputs, scores: 2 * scores)
    assert difference(block) < 1e-5


def test_a_layer_with_a_replaced_forward_stays():
    torch.manual_seed(7)
    block = Residual().eval()
    convolve = block.first.forward
    block.first.forward = lambda images: 3 * convolve(images)
    assert difference(block) < 1e-5


def test_a_module_that_sets_the_precision_of_a_part_stays():
    class Exact(Residual):
        def forward(self, images):
            x = torch.relu(self.stem(images))
            with torch.autocast("cpu", enabled=False):
                return self.last(x.float().mean((2, 3)))

    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert with_fused_layers(Exact().eval()) is None


def test_too_little_memory_for_fused_layers_leaves_the_module_as_it_is(monkeypatch):
    def full(*_):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(torch.nn.utils, "fuse_conv_bn_eval", full)
    assert with_fused_layers(Residual().eval()) is None


def test_modules_that_cannot_be_traced_or_have_nothing_to_fuse_stay():
    class Branching(Residual):
        def forward(self, images):
            return super().forward(images if images.sum() > 0 else -images)

    assert with_fused_layers(Branching().eval()) is None
    assert with_fused_layers(nn.Sequential(nn.Flatten(), nn.Linear(12, 3)).eval()) is None


def test_weights_that_are_not_folded_are_shared():
    block = Residual().eval()
    fused = dict(with_fused_layers(block).named_parameters())
    assert fused["0.last.weight"] is block.last.weight
    assert fused["0.stem.weight"] is not block.stem.weight


def test_training_mode_is_not_folded():
    assert with_fused_layers(Residual().train()) is None


def test_inputs_are_cast_to_the_type_of_the_weights():
    weight, bias = torch.randn(4, 3, 3, 3).double(), torch.randn(4).double()
    geometry = (1, 1), (1, 1), (1, 1), 1
    images, shortcut = torch.randn(2, 3, 5, 5), torch.randn(2, 4, 5, 5)
    plain = nn.functional.conv2d(images.double(), weight, bias, padding=1)
    given = convolution_add_relu(images, weight, shortcut, bias, *geometry)
    assert given.dtype is torch.float64
    torch.testing.assert_close(given, (plain + shortcut).clamp_min(0))
    torch.testing.assert_close(convolution_relu(images, weight, bias, *geometry), plain.clamp_min(0))
