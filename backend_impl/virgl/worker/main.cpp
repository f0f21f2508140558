// apir-worker: serves one context. Started by the component in QEMU, never by hand.
//
//   apir-worker INTERFACE CONTEXT CAPSET PARENT-PID [KEY=VALUE…]      descriptor 3: the queue, 4: the arena,
//                                                               5: who was last at work, 2: the component's log
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <unistd.h>
#include <vector>

#include <call_log.hpp>

#include "../component_log.hpp"
#include "../presence.hpp"
#include "../shared_queue.hpp"
#include "../short_turns.hpp"
#include "../worker_process.hpp"
#include "blobs.hpp"
#include "commands.hpp"
#include "confinement.hpp"
#include "service.hpp"

namespace apir::virgl {
namespace {

struct Arguments {
    uint32_t context;
    uint32_t capset;
    pid_t parent;
    Config config;
};

bool parse(int count, char **values, Arguments &arguments) {
    if (count < 5) return false;
    arguments.context = static_cast<uint32_t>(std::strtoul(values[2], nullptr, 10));
    arguments.capset = static_cast<uint32_t>(std::strtoul(values[3], nullptr, 10));
    arguments.parent = static_cast<pid_t>(std::strtol(values[4], nullptr, 10));
    for (int i = 5; i < count; ++i) {
        std::string pair = values[i];
        size_t equals = pair.find('=');
        if (equals == std::string::npos) return false;
        arguments.config[pair.substr(0, equals)] = pair.substr(equals + 1);
    }
    return true;
}

void open_call_log(CallLog &calls, const Arguments &arguments) {
    std::string error;
    std::string name = "host-" + std::to_string(arguments.context) + "-" + std::to_string(getpid());
    calls.open(variable_for(arguments.capset, "VIRGL_APIR_CALL_LOG"), name, CallSide::host, arguments.context, arguments.capset,
               reinterpret_cast<const void *>(&open_call_log), error);
    if (!error.empty()) log(Level::warn, "%s", error.c_str());
}

void open_trace(Trace &trace, const Arguments &arguments) {
    auto folder = arguments.config.find("apir.trace");
    if (folder == arguments.config.end() || folder->second.empty()) return;
    std::string error;
    std::string name = "trace-" + std::to_string(arguments.context) + "-" + std::to_string(getpid());
    if (!trace.open(folder->second, name, error)) log(Level::warn, "%s", error.c_str());
}

int run(int count, char **values) {
    Arguments arguments;
    if (count > 1 && std::to_string(worker_interface) != values[1]) {
        log(Level::error, "apir-worker is of another build than the component in QEMU, which has to be started again, or needs its own (VIRGL_APIR_WORKER)");
        return 2;
    }
    if (!parse(count, values, arguments)) {
        std::fprintf(stderr, "apir-worker is started by the APIR component in QEMU\n");
        return 2;
    }
    // An assertion of ggml's would otherwise start a debugger and wait for it, while the guest waits for its answer.
    setenv("GGML_NO_BACKTRACE", "1", 0);
    const char *cpus = std::getenv("VIRGL_APIR_WORKER_CPUS");
    std::vector<std::string> warnings;
    if (!confine(arguments.parent, cpus == nullptr ? "" : cpus, warnings)) return 1;
    // Never unmapped: ggml's threads may log while the process ends.
    static Presence &presence = *new Presence(worker_presence_fd, arguments.context);
    share_log(presence.component_log());
    for (const std::string &warning : warnings) log(Level::warn, "%s", warning.c_str());
    take_short_turns(Heirs::ordinary); // ggml's threads compute
    BlobTable blobs(worker_arena_fd);
    QueueConsumer queue(worker_queue_fd);
    CallLog calls;
    open_call_log(calls, arguments);
    Trace trace;
    open_trace(trace, arguments);
    HostWorld world{arguments.context, std::move(arguments.config), &blobs, &queue.beats(), calls.last_op(), presence.host_log(),
                    &queue.closing_word()};
    CommandRing ring(blobs, queue, ring_allowed(world.config), world.context);
    Commands commands(world, ring, calls, trace);
    Service(queue, ring, commands, presence).run();
    return 0;
}

} // namespace
} // namespace apir::virgl

int main(int count, char **values) {
    try {
        return apir::virgl::run(count, values);
    } catch (const std::exception &failure) {
        apir::virgl::log(apir::virgl::Level::error, "apir-worker: %s", failure.what());
        return 1;
    }
}
