"""Models: common classifiers by name, each with its classes and its recipe, run on a CPU or a GPU."""

from regrade.models.cores import usable_cores
from regrade.models.gpu_images import framed_jpegs, is_for_gpu
from regrade.models.model import Device, Model, ModelMetadata, OutOfMemory, Precision, Settings
from regrade.models.preprocess import framed, normalized, preprocess
from regrade.models.published import LITE_FIGURES, PublishedAccuracies, far_from_published, read_figures
from regrade.models.registry import ENTRY_POINTS, load_model, prefixes
from regrade.models.resize import Resizer, fastest_resizer
from regrade.models.torch_to_onnx import Exported, as_onnx

__all__ = [
    "ENTRY_POINTS",
    "LITE_FIGURES",
    "Device",
    "Exported",
    "Model",
    "ModelMetadata",
    "OutOfMemory",
    "Precision",
    "PublishedAccuracies",
    "Resizer",
    "Settings",
    "as_onnx",
    "far_from_published",
    "fastest_resizer",
    "framed",
    "framed_jpegs",
    "is_for_gpu",
    "load_model",
    "normalized",
    "prefixes",
    "preprocess",
    "read_figures",
    "usable_cores",
]
