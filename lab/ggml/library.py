"""ggml's public functions, loaded and typed. Every foreign call of the lab goes through a ``Ggml``.

Signatures are written as one letter per argument, after the result's; they are those of ``ggml.h``, ``ggml-backend.h`` and
``ggml-alloc.h`` of libggml 0.27. A library that lacks a function, or whose ``struct ggml_tensor`` is of another size, is
refused when it is loaded, not when it crashes.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

from lab.errors import RemoteFailed
from lab.ggml.generation import loaded
from lab.ggml.operations import GONE, OPERATIONS

OBJECT_BYTES = 32
"""``sizeof(struct ggml_object)``, which is in front of every tensor of a context."""

LETTERS: dict[str, Any] = {
    "v": None,
    "p": ctypes.c_void_p,
    "s": ctypes.c_char_p,
    "i": ctypes.c_int,
    "u": ctypes.c_uint32,
    "q": ctypes.c_int64,
    "z": ctypes.c_size_t,
    "f": ctypes.c_float,
    "b": ctypes.c_bool,
    "c": ctypes.c_uint8,
}

REGISTRY_FUNCTIONS = """
ggml_backend_load_all v
ggml_backend_load ps
ggml_backend_register vp
ggml_backend_dev_count z
ggml_backend_dev_get pz
"""

BASE_FUNCTIONS = """
ggml_version s
ggml_type_name si
ggml_type_size zi
ggml_blck_size qi
ggml_op_desc sp
ggml_nbytes zp
ggml_tensor_overhead z
ggml_graph_overhead_custom zzb
ggml_free vp
ggml_used_mem zp
ggml_get_mem_size zp
ggml_new_tensor ppiip
ggml_get_first_tensor pp
ggml_get_next_tensor ppp
ggml_new_graph_custom ppzb
ggml_build_forward_expand vpp
ggml_graph_n_nodes ip
ggml_graph_node ppi
ggml_prec_set_acc bpi
ggml_set_param vp
ggml_soft_max_add_sinks vpp
ggml_flash_attn_ext_add_sinks vpp
ggml_get_type_traits pi
ggml_backend_dev_name sp
ggml_backend_dev_description sp
ggml_backend_dev_type ip
ggml_backend_dev_backend_reg pp
ggml_backend_dev_init pps
ggml_backend_dev_buffer_type pp
ggml_backend_dev_supports_op bpp
ggml_backend_reg_name sp
ggml_backend_reg_dev_count zp
ggml_backend_reg_dev_get ppz
ggml_backend_reg_get_proc_address pps
ggml_backend_free vp
ggml_backend_name sp
ggml_backend_graph_compute ipp
ggml_backend_buft_name sp
ggml_backend_alloc_ctx_tensors_from_buft ppp
ggml_backend_buffer_free vp
ggml_backend_buffer_get_base pp
ggml_backend_buffer_get_size zp
ggml_backend_buffer_clear vpc
ggml_backend_tensor_alloc ippp
ggml_backend_tensor_set vppzz
ggml_backend_tensor_get vppzz
"""


class GgmlError(RemoteFailed):
    """ggml refused: it returned nothing, or a status other than success."""

    def __init__(self, call: str, text: str) -> None:
        super().__init__("ggml", call, text)


class GoneOperation(GgmlError):
    """A case of an operation that this ggml has no longer."""


class InitParams(ctypes.Structure):
    """``struct ggml_init_params``."""

    _fields_ = (("mem_size", ctypes.c_size_t), ("mem_buffer", ctypes.c_void_p), ("no_alloc", ctypes.c_bool))


class TensorStruct(ctypes.Structure):
    """``struct ggml_tensor``."""

    _fields_ = (
        ("type", ctypes.c_int),
        ("buffer", ctypes.c_void_p),
        ("ne", ctypes.c_int64 * 4),
        ("nb", ctypes.c_size_t * 4),
        ("op", ctypes.c_int),
        ("op_params", ctypes.c_int32 * 16),
        ("flags", ctypes.c_int32),
        ("src", ctypes.c_void_p * 10),
        ("view_src", ctypes.c_void_p),
        ("view_offs", ctypes.c_size_t),
        ("data", ctypes.c_void_p),
        ("name", ctypes.c_char * 64),
        ("extra", ctypes.c_void_p),
        ("padding", ctypes.c_char * 8),
    )


class Ggml:
    """The two libraries of ggml in this process. ``call`` calls a function; ``operation`` one that makes a tensor."""

    def __init__(self) -> None:
        try:
            registry, base = loaded("libggml"), loaded("libggml-base")
            self.functions = declared(registry, REGISTRY_FUNCTIONS) | declared(base, BASE_FUNCTIONS)
            there = (name for name in OPERATIONS if name not in GONE or hasattr(base, f"ggml_{name}"))
            self.operations = {name: _operation(base, name, OPERATIONS[name]) for name in there}
            base.ggml_init.argtypes = (InitParams,)
            base.ggml_init.restype = ctypes.c_void_p
        except (OSError, AttributeError) as error:
            raise GgmlError("dlopen", str(error)) from error
        self.init: Callable[[InitParams], int | None] = base.ggml_init
        self.functions["ggml_init"] = base.ggml_init
        tensor_bytes = self.call("ggml_tensor_overhead") - OBJECT_BYTES
        if tensor_bytes != ctypes.sizeof(TensorStruct):
            raise GgmlError(
                "ggml_tensor_overhead", f"struct ggml_tensor has {tensor_bytes} bytes, not {ctypes.sizeof(TensorStruct)}"
            )

    def call(self, name: str, *arguments: Any) -> Any:
        """Call a function of the tables above by its C name."""
        return self.functions[name](*arguments)

    def made(self, name: str, *arguments: Any) -> int:
        """Call a function that returns a pointer. Raises ``GgmlError`` when that is null."""
        pointer = self.functions[name](*arguments)
        if not pointer:
            raise GgmlError(name, "returned nothing")
        return int(pointer)

    def text(self, name: str, *arguments: Any) -> str:
        """Call a function that returns a string."""
        value = self.functions[name](*arguments)
        return "" if value is None else bytes(value).decode(errors="replace")


@functools.cache
def loaded_ggml() -> Ggml:
    """The libraries, loaded once in a process: ggml's registry is one for all, too."""
    return Ggml()


def declared(library: ctypes.CDLL, table: str) -> dict[str, Callable[..., Any]]:
    """The functions of a table of signatures, each with its argument and result types."""
    functions = {}
    for line in table.split("\n"):
        if line:
            name, letters = line.split()
            functions[name] = _typed(getattr(library, name), letters)
    return functions


def _typed(function: Any, letters: str) -> Callable[..., Any]:
    function.restype = LETTERS[letters[0]]
    function.argtypes = tuple(LETTERS[letter] for letter in letters[1:])
    typed: Callable[..., Any] = function
    return typed


def _operation(library: ctypes.CDLL, name: str, letters: str) -> Callable[..., Any]:
    """A function that makes a tensor: its first argument is the context, its result the tensor; ``t`` is a tensor."""
    return _typed(getattr(library, f"ggml_{name}"), "pp" + letters.replace("t", "p"))
