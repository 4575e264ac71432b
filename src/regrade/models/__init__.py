"""Models: common classifiers by name, each with its classes and preprocessing, run on a CPU or a GPU."""

from regrade.core.cores import usable_cores
from regrade.models.devices import gpu_names
from regrade.models.gpu_images import GpuImageLoader, decode_jpegs, gpu_can_decode, warm_up
from regrade.models.model import Device, Model, ModelMetadata, OutOfMemory, Precision, Settings
from regrade.models.preprocess import Resizer, crop_and_resize, fastest_resizer, gpu_decoder, normalize, preprocess
from regrade.models.published import LITE_PUBLISHED, PublishedAccuracies, published_warning, read_published_accuracies
from regrade.models.registry import ENTRY_POINTS, default_device, load_model, prefixes
from regrade.models.torch_to_onnx import OnnxExport, can_export, export_to_onnx
from regrade.models.torchvision_model import torchvision_parameters

__all__ = [
    "ENTRY_POINTS",
    "LITE_PUBLISHED",
    "Device",
    "GpuImageLoader",
    "Model",
    "ModelMetadata",
    "OnnxExport",
    "OutOfMemory",
    "Precision",
    "PublishedAccuracies",
    "Resizer",
    "Settings",
    "can_export",
    "crop_and_resize",
    "decode_jpegs",
    "default_device",
    "export_to_onnx",
    "fastest_resizer",
    "gpu_can_decode",
    "gpu_decoder",
    "gpu_names",
    "load_model",
    "normalize",
    "prefixes",
    "preprocess",
    "published_warning",
    "read_published_accuracies",
    "torchvision_parameters",
    "usable_cores",
    "warm_up",
]
