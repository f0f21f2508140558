// A libggml that has an op more in between than the headers: no device is offered.
#include "guest_fake.hpp"
#include "other_ops.hpp"

using namespace apir::guest;
using namespace apir::guest::test;

int main() {
    ScriptedHost host;
    CapturedLog log;
    std::unique_ptr<Registry> registry = set_up(host);
    expect(ggml_backend_reg_dev_count(&registry->reg) == 0, "a device is offered");
    expect(host.all().empty(), "and the host asked");
    expect(log.has("backend not available: libggml has other ops than this library: number " + std::to_string(GGML_OP_CONCAT) + " is "), "the message: " + log.text());
    return failures();
}
