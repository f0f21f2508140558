"""Scenarios: what to boot, what to ship, what to check, and running that.

``load`` (in ``file``) reads a file, ``expand`` unfolds its matrix into variants, ``runner.run`` runs them and leaves a
bundle.
"""

from lab.scenario.file import load
from lab.scenario.model import Scenario

__all__ = ["Scenario", "load"]
