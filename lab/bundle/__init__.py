"""The run bundle: the folder that one ``lab run`` leaves behind, and the only thing that reports are made from.

``outcome`` has the words, ``schema`` and ``rows`` what the files hold, ``writer`` writes them as things happen, ``reader`` reads a
bundle in whatever state the run left it, ``junit`` and ``reproduce`` derive the two files that others consume.
"""

from lab.bundle.outcome import Blame, CaseResult, Finding, FindingKind, Outcome
from lab.bundle.reader import Bundle, read_bundle

__all__ = ["Blame", "Bundle", "CaseResult", "Finding", "FindingKind", "Outcome", "read_bundle"]
