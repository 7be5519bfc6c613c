"""Manifests, compilers and builds: from a folder with a binding.toml to a command that runs.

Separate because it is the only part that knows where things lie on a machine. It starts compilers and
pip, never a trainer, and never a network installer.
"""

from hexapla.toolchains.build import Built, build_binding
from hexapla.toolchains.command import BuildError, ToolchainMissing
from hexapla.toolchains.core import Core, build_core
from hexapla.toolchains.manifest import Manifest, ManifestError, load_manifest
from hexapla.toolchains.places import Places, find_bindings
from hexapla.toolchains.tools import TOOLS, MissingTool, Tool, find_tool, on_path

__all__ = [
    "TOOLS",
    "BuildError",
    "Built",
    "Core",
    "Manifest",
    "ManifestError",
    "MissingTool",
    "Places",
    "Tool",
    "ToolchainMissing",
    "build_binding",
    "build_core",
    "find_bindings",
    "find_tool",
    "load_manifest",
    "on_path",
]
