"""The two hash functions of the engine, without what ``hashlib`` loads beside them.

``hashlib`` begins with OpenSSL, for which an emulated guest needs a tenth of a second, and takes these two from Python's own
modules in the end.
"""

from __future__ import annotations

try:
    from _blake2 import blake2b
    from _sha3 import shake_128  # type: ignore[import-not-found]
except ImportError:
    from hashlib import blake2b, shake_128

__all__ = ["blake2b", "shake_128"]
