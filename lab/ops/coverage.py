"""What ``lab ops`` tells: cases per operation, and what ``test-backend-ops`` tests and the catalog lacks."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from lab.ops.catalog import all_cases

UPSTREAM_0_27 = """
ABS ACC ADD ADD_ID ARANGE ARGMAX ARGSORT CEIL CLAMP COL2IM_1D CONCAT CONV_2D CONV_2D_DW CONV_3D CONV_TRANSPOSE_1D
CONV_TRANSPOSE_2D COS COUNT_EQUAL CPY CROSS_ENTROPY_LOSS CROSS_ENTROPY_LOSS_BACK CUMSUM DIAG DIAG_MASK_INF DIV DSV4_HC_COMB
DSV4_HC_POST DSV4_HC_PRE DUP ELU EXP EXPM1 FILL FLASH_ATTN_EXT FLOOR GATED_DELTA_NET GATED_LINEAR_ATTN GEGLU GEGLU_ERF
GEGLU_QUICK GELU GELU_ERF GELU_QUICK GET_ROWS GET_ROWS_BACK GROUP_NORM HARDSIGMOID HARDSWISH IM2COL IM2COL_3D L2_NORM
LEAKY_RELU LIGHTNING_INDEXER LOG MEAN MUL MUL_MAT MUL_MAT_ID NEG NORM OPT_STEP_ADAMW OPT_STEP_SGD OUT_PROD PAD PAD_REFLECT_1D
POOL_1D POOL_2D REGLU RELU REPEAT REPEAT_BACK RMS_NORM RMS_NORM_BACK ROLL ROPE ROPE_BACK ROUND RWKV_WKV6 RWKV_WKV7 SCALE SET
SET_ROWS SGN SIGMOID SILU SILU_BACK SIN SOFTPLUS SOFT_MAX SOFT_MAX_BACK SOLVE_TRI SQR SQRT SSM_CONV SSM_SCAN STEP SUB SUM
SUM_ROWS SWIGLU SWIGLU_CLAMP SWIGLU_OAI TANH TIMESTEP_EMBEDDING TOP_K TRI TRUNC UPSCALE XIELU
"""
"""Operations that ``test-backend-ops --show-coverage`` of libggml 0.27 counts as tested."""
TESTED = re.compile(r"^\s*✓\s+(\S+)\s*$", re.MULTILINE)
NO_CASES = "no family of the catalog builds it"


@dataclass(frozen=True, slots=True)
class Missing:
    """An operation that upstream tests and the catalog has no case of."""

    op: str
    why: str


@dataclass(frozen=True, slots=True)
class Coverage:
    """The catalog in figures. ``per_op`` is sorted by name."""

    cases: int
    per_op: tuple[tuple[str, int], ...]
    missing: tuple[Missing, ...]


def operations_tested(show_coverage: str) -> tuple[str, ...]:
    """Operations that the output of ``test-backend-ops --show-coverage`` counts as tested."""
    return tuple(TESTED.findall(show_coverage))


def coverage(upstream: tuple[str, ...] = tuple(UPSTREAM_0_27.split())) -> Coverage:
    """Counts, compared with the operations that upstream tests."""
    counted = Counter(case.op for case in all_cases())
    missing = tuple(Missing(op, NO_CASES) for op in sorted(set(upstream) - set(counted)))
    return Coverage(sum(counted.values()), tuple(sorted(counted.items())), missing)
