// To be in a program once: its functions come before libggml's.
#pragma once

#include <dlfcn.h>
#include <ggml.h>

namespace apir::test {

// The number of the one that only this libggml has; none, where it has no number.
inline int op_put_in = 20;
inline int function_put_in = -1;

template <typename Op> const char *name_as_if(const char *function, Op op, int put_in) {
    auto *const name_of = reinterpret_cast<const char *(*)(Op)>(dlsym(RTLD_NEXT, function));
    if (op == put_in) return "PUT_IN";
    return name_of(put_in >= 0 && op > put_in ? static_cast<Op>(op - 1) : op);
}

} // namespace apir::test

extern "C" {
__attribute__((visibility("default"))) const char *ggml_op_name(ggml_op op) { return apir::test::name_as_if("ggml_op_name", op, apir::test::op_put_in); }
__attribute__((visibility("default"))) const char *ggml_unary_op_name(ggml_unary_op op) {
    return apir::test::name_as_if("ggml_unary_op_name", op, apir::test::function_put_in);
}
}
