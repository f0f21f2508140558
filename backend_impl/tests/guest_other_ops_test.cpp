// A libggml that has an op more in between than the headers, or a function of one number: no device is offered.
#include "guest_fake.hpp"
#include "other_ops.hpp"

using namespace apir::guest;
using namespace apir::guest::test;

namespace {

void offers_nothing(int moved) {
    ScriptedHost host;
    CapturedLog log;
    std::unique_ptr<Registry> registry = set_up(host);
    expect(ggml_backend_reg_dev_count(&registry->reg) == 0, "a device is offered");
    expect(host.all().empty(), "and the host asked");
    expect(log.has("backend not available: libggml has other ops than this library: number " + std::to_string(moved) + " is "), "the message: " + log.text());
}

} // namespace

int main() {
    offers_nothing(GGML_OP_CONCAT);
    apir::test::op_put_in = -1;
    apir::test::function_put_in = GGML_UNARY_OP_EXPM1;
    offers_nothing(GGML_UNARY_OP_GELU_ERF);
    return failures();
}
