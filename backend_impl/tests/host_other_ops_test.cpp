// A libggml that has an op more in between than the headers: it is not opened.
#include "host_loopback.hpp"
#include "other_ops.hpp"

using namespace apir;
using namespace apir::test;

int main() {
    Loopback host(1, cpu_config());
    expect_equal(host.initialize(), static_cast<uint32_t>(InitCode::registration_failed), "initialize");
    return failures == 0 ? 0 : 1;
}
