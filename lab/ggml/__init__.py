"""ggml's public API through ctypes.

The same files run in the lab's host root and in the guest: standard library only, but for ``arrays``, which only judging needs.
"""
