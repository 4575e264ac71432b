"""Untrained networks by name."""

import pytest
import torch

from regrade.core import InputError, UnknownName
from regrade.models.networks import SMALL_NETWORKS, cifar_resnet, new_network, with_absolute_path


@pytest.mark.parametrize("name", SMALL_NETWORKS)
def test_small_networks_have_one_score_per_class(name):
    network = new_network(name, channels=1, size=8, classes=4).eval()
    assert network(torch.zeros(2, 1, 8, 8)).shape == (2, 4)


@pytest.mark.parametrize(("depth", "parameters"), [(20, 269_722), (56, 853_018)])
def test_residual_networks_have_the_published_size(depth, parameters):
    """He et al. 2016, Table 6: 0.27 and 0.85 million parameters."""
    network = cifar_resnet(depth)(3, 32, 10)
    assert sum(value.numel() for value in network.parameters()) == parameters
    with pytest.raises(InputError, match="6n \\+ 2"):
        cifar_resnet(21)


def test_random_features_are_not_trained():
    network = new_network("random-features", channels=1, size=4, classes=3)
    assert [value.requires_grad for value in network.parameters()] == [False, False, True, True]


def test_networks_of_libraries(library):
    library("timm")
    assert new_network("timm:resnet18", channels=1, size=32, classes=5)(torch.zeros(2, 1, 32, 32)).shape == (2, 5)
    assert new_network("torchvision:resnet18", channels=3, size=32, classes=5)(torch.zeros(2, 3, 32, 32)).shape == (
        2,
        5,
    )
    with pytest.raises(InputError, match="give --channels 3"):
        new_network("torchvision:resnet18", channels=1, size=32, classes=5)
    for name in ("timm:resnet99x", "torchvision:resnet99x"):
        with pytest.raises(UnknownName, match="resnet"):
            new_network(name, channels=3, size=32, classes=5)


def test_unknown_networks_are_one_line():
    with pytest.raises(UnknownName, match="unknown network 'resnet21'; did you mean resnet20"):
        new_network("resnet21", channels=3, size=8, classes=2)
    with pytest.raises(UnknownName, match="unknown source of networks 'keras'"):
        new_network("keras:x", channels=3, size=8, classes=2)


def test_paths_of_users_files_become_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert with_absolute_path("torch:net.py:make") == f"torch:{tmp_path}/net.py:make"
    assert with_absolute_path("torch:package.net:make") == "torch:package.net:make"
    assert with_absolute_path("resnet20") == "resnet20"
