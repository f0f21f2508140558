"""Numbers by which ggml's operations are told how: parameters that ggml.h has names for."""

from __future__ import annotations

NORMAL, NEOX, MROPE, VISION, IMROPE = 0, 2, 8, 24, 40
"""Rotary positions: of neighbours, of elements half a row apart, and with several positions of a token."""
NEAREST, BILINEAR, BICUBIC, CORNERS, ANTIALIAS = 0, 1, 2, 1 << 8, 1 << 9
"""Interpolation, and its flags: ends fall on ends, or all that becomes one element is mixed."""
