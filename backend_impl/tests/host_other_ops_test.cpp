// A libggml that has an op more in between than the headers: it is not opened.
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <unistd.h>

#include "host_loopback.hpp"
#include "other_ops.hpp"

using namespace apir;
using namespace apir::test;

int main() {
    const std::string path = "host-other-ops-test-" + std::to_string(getpid()) + ".log";
    setenv("APIR_LLAMA_CPP_LOG_TO_FILE", path.c_str(), 1);
    Loopback host(1, cpu_config());
    expect_equal(host.initialize(), static_cast<uint32_t>(InitCode::registration_failed), "initialize");
    std::ostringstream log;
    log << std::ifstream(path).rdbuf();
    unlink(path.c_str());
    expect(log.str().find("its libggml has other ops than this library: number ") != std::string::npos, "the log: " + log.str());
    return failures == 0 ? 0 : 1;
}
