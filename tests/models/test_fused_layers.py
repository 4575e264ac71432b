"""Fused layers compute what the layers did; on the CPU, where plain calls replace those of the GPU."""

import operator

import pytest

torch = pytest.importorskip("torch")

from regrade.models.fused_layers import convolution_add_relu, convolution_relu, with_fused_layers  # noqa: E402
