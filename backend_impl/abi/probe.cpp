// abi-probe: does the installed libggml have the backend interface that our libraries were built for?
//
// Prints one line per fact: `ok: STRUCT.SLOT OFFSET`, `between: …` (no accessor reaches it, its neighbours are proved),
// `fact: NAME VALUE`, `moved: STRUCT.SLOT WHY`. Exit status 0 when nothing moved, 1 otherwise.
#include "probe.hpp"

#include <csignal>
#include <cstring>
#include <unistd.h>

namespace apir::abi {

namespace {

const char *current = "start";

void say(const char *text) {
    if (write(STDOUT_FILENO, text, std::strlen(text)) < 0) _exit(1);
}

// The library called or followed something that was not meant: the layout differs from ours.
void on_crash(int) {
    say("moved: ");
    say(current);
    say(" the library crashed in its accessor\n");
    _exit(1);
}

} // namespace

void set_current(const char *name) { current = name; }

} // namespace apir::abi

int main() {
    // Line by line, also into a pipe: a crash must not take the findings with it.
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGABRT, SIGFPE}) std::signal(signal, apir::abi::on_crash);
    apir::abi::Findings findings;
    apir::abi::probe_library(findings);
    apir::abi::probe_slots(findings);
    findings.fact("moved", std::to_string(findings.count()));
    return findings.count() == 0 ? 0 : 1;
}
