"""Models: common classifiers by name, each with its classes and its recipe, run on a CPU or a GPU."""

from regrade.models.model import Device, Model, OutOfMemory, Precision, Settings
from regrade.models.preprocess import preprocess
from regrade.models.published import LITE_FIGURES, Figures, far_from_published, read_figures
from regrade.models.registry import ENTRY_POINTS, load_model, prefixes
from regrade.models.torch_to_onnx import Exported, as_onnx

__all__ = [
    "ENTRY_POINTS",
    "LITE_FIGURES",
    "Device",
    "Exported",
    "Figures",
    "Model",
    "OutOfMemory",
    "Precision",
    "Settings",
    "as_onnx",
    "far_from_published",
    "load_model",
    "prefixes",
    "preprocess",
    "read_figures",
]
