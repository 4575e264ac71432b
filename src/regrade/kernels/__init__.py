"""Kernels for GPUs in Triton; each module is imported where it is used, since Triton is optional."""

from regrade.kernels.regions import DeviceImage, Region

__all__ = ["DeviceImage", "Region"]
