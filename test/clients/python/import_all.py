"""Imports every module of the generated package: a name that is not there, or is there twice, fails."""

import importlib
import pkgutil

import research_assessment

modules = [module.name for module in pkgutil.walk_packages(research_assessment.__path__, "research_assessment.")]
for module in modules:
    importlib.import_module(module)
print(len(modules))
