// apir-bench: measures one device, on command. Run by the lab, in the guest and on the host.
//
//   apir-bench registry NAME [N]                      the first device of a registry, after ggml has loaded GGML_BACKEND_PATH;
//                                                     N threads for a device that computes in this process
//   apir-bench loopback HOST_LIBRARY GGML_LIBRARY N   guest and host library in this process; N threads for the host's ggml
//   apir-bench floors                                 what nothing here can be quicker than; the host library is libapir-bench-host.so
//
// It says {"ready": …} or {"error": …}, then answers every line "NAME KEY=VALUE…" of its input with a line of JSON, to the end of input.
#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <unistd.h>

#include "floors.hpp"
#include "guest/drm_device.hpp"
#include "measures.hpp"

namespace {

using namespace apir::bench;

struct Measure {
    const char *name;
    void (*run)(Subject &subject, const Request &request, Row &row);
};
constexpr Measure measures[] = {{"empty", empty_call}, {"clear", clear_call}, {"set", set},         {"get", get},   {"alloc_free", alloc_free},
                                {"graph", graph},      {"after_pause", after_pause}, {"threads", threads}, {"idle", idle}, {"token", token}};

struct Floor {
    const char *name;
    void (Floors::*run)(const Request &request, Row &row);
};
constexpr Floor floors[] = {{"word", &Floors::word},
                            {"submission", &Floors::submission},
                            {"burst", &Floors::burst},
                            {"copy", &Floors::copy},
                            {"host_copy", &Floors::host_copy}};

void tell_failure(const std::exception &failure) { Row().text("error", failure.what()).print(); }

template <typename Run> void serve(Run run) {
    for (std::string line; std::getline(std::cin, line);) {
        try {
            Request request(line);
            Row row;
            run(request, row.text("measure", request.name()));
            row.print();
        } catch (const std::exception &failure) {
            tell_failure(failure);
        }
    }
}

void serve(Subject &subject) {
    Row()
        .text("ready", ggml_backend_dev_name(subject.device()))
        .text("description", ggml_backend_dev_description(subject.device()))
        .number("pid", static_cast<uint64_t>(getpid()))
        .print();
    serve([&](const Request &request, Row &row) {
        for (const Measure &measure : measures)
            if (request.name() == measure.name) return measure.run(subject, request, row);
        throw Failure("there is no measurement " + request.name());
    });
}

void serve(Floors &context) {
    Row().text("ready", "floors").text("description", "").number("pid", static_cast<uint64_t>(getpid())).print();
    serve([&](const Request &request, Row &row) {
        for (const Floor &floor : floors)
            if (request.name() == floor.name) return (context.*floor.run)(request, row);
        throw Failure("there is no floor " + request.name());
    });
}

int run(int count, char **arguments) {
    const std::string mode = count > 1 ? arguments[1] : "";
    if (mode == "registry" && (count == 3 || count == 4)) {
        serve(*Subject::of_registry(arguments[2], count == 4 ? std::atoi(arguments[3]) : 0));
    } else if (mode == "loopback" && count == 5) {
        serve(*Subject::loopback(arguments[2], arguments[3], arguments[4]));
    } else if (mode == "floors" && count == 2) {
        Floors context(std::make_unique<apir::guest::DrmDevice>());
        serve(context);
    } else {
        std::cerr << "usage: " << arguments[0] << " registry NAME [THREADS] | loopback HOST_LIBRARY GGML_LIBRARY THREADS | floors\n";
        return 2;
    }
    return 0;
}

} // namespace

int main(int count, char **arguments) {
    try {
        return run(count, arguments);
    } catch (const std::exception &failure) {
        tell_failure(failure);
        return 1;
    }
}
