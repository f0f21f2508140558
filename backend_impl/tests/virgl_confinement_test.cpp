// What a worker is kept from, and that a host which cannot do so says it.
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <sched.h>
#include <sstream>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "virgl_forbid.hpp"
#include "virgl_qemu.hpp"

using namespace apir;
using namespace apir::test;

namespace {

void worker_is_confined() {
    environment();
    setenv("LD_PRELOAD", "", 1);
    cpu_set_t allowed;
    sched_getaffinity(0, sizeof allowed, &allowed);
    size_t cpu = 0;
    while (!CPU_ISSET(cpu, &allowed)) ++cpu;
    setenv("VIRGL_APIR_WORKER_CPUS", std::to_string(cpu).c_str(), 1);
    std::signal(SIGPIPE, SIG_DFL); // which a worker does not take over from QEMU
    const int null = open("/dev/null", O_RDONLY);
    const int witness = fcntl(null, F_DUPFD, 50); // inheritable, by no number that a worker has for itself, and must not be inherited
    Qemu qemu;
    GuestContext guest(3, 30);
    guest.start();
    expect(guest.ask(FakeCall::files) == "0 1 2 3 4 5 ", "open files of a worker: " + guest.ask(FakeCall::files));
    rlimit core{};
    getrlimit(RLIMIT_CORE, &core);
    const std::string limits = guest.ask(FakeCall::limits);
    const std::string before = "cpus 1 oom 1000 few files ", rest = " dumps 00000000 privileges 1 death 9";
    expect(limits == before + "core 1" + rest || (core.rlim_max == 0 && limits == before + "core 0" + rest), limits);
    expect(guest.ask(FakeCall::environment, "LD_PRELOAD") == "(null)", "the preload is not handed on");
    expect(guest.ask(FakeCall::environment, "LD_PRELOAD_WITNESS") == "kept", "the rest of the environment is");
    expect(guest.ask(FakeCall::config, "apir.load_library.path") == FAKE_HOST, "keys come from the environment");
    expect(guest.ask(FakeCall::config, "ggml.library.reg") == "(null)", "a key that is not set");
    expect(guest.ask(FakeCall::config, "apir.log.append") == "1", "the first worker appends to the log, for it may not be the first to load its library");
    GuestContext second(4, 40);
    second.start();
    expect(second.ask(FakeCall::config, "apir.log.append") == "1", "so does the second one");
    virgl_apir_configure_kv(4, "ggml.library.reg", "late");
    expect(second.ask(FakeCall::config, "ggml.library.reg") == "late", "configured while the worker runs");
    close(witness);
    close(null);
}

// What is no list of CPUs, or of some that no set has, is told, and leaves the worker where it is.
void cpus_that_are_none() {
    environment();
    char path[] = "virgl-confinement-log-XXXXXX";
    close(mkstemp(path));
    setenv("VIRGL_APIR_LOG_TO_FILE", path, 1);
    const std::string last = std::to_string(CPU_SETSIZE - 1), beyond = std::to_string(CPU_SETSIZE);
    for (const std::string &cpus : {"0-" + last, "0-" + beyond, beyond, std::string("-1"), std::string("1-0"), std::string("0 1"), std::string("0-"), std::string("all")}) {
        setenv("VIRGL_APIR_WORKER_CPUS", cpus.c_str(), 1);
        {
            Qemu qemu;
            GuestContext guest(3, 30);
            guest.start();
        }
        std::ostringstream log;
        log << std::ifstream(path).rdbuf();
        const bool told = log.str().find("VIRGL_APIR_WORKER_CPUS is '" + cpus + "', which is no list of CPUs") != std::string::npos;
        expect(told != (cpus == "0-" + last) && log.str().find("cannot pin") == std::string::npos, cpus + ": " + log.str());
    }
    unlink(path);
}

// An abstract socket that fake host libraries know of.
class AbstractSocket {
  public:
    AbstractSocket() : fd_(socket(AF_UNIX, SOCK_STREAM, 0)) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "apir-test-%d", getpid());
        expect_equal(bind(fd_, reinterpret_cast<const sockaddr *>(&address), sizeof address), 0, "bind");
        expect_equal(listen(fd_, 1), 0, "listen");
    }
    ~AbstractSocket() { close(fd_); }
    AbstractSocket(const AbstractSocket &) = delete;
    AbstractSocket &operator=(const AbstractSocket &) = delete;

  private:
    int fd_;
};

#if defined(__SANITIZE_ADDRESS__)
#define APIR_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define APIR_SANITIZED 1
#endif
#endif
#ifdef APIR_SANITIZED
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

// As root, too: the kernel's Landlock decides, where it has one, and of limits and tracing a filter of system calls.
void worker_is_kept_from_others() {
    environment();
    AbstractSocket outside;
    const long version = syscall(SYS_landlock_create_ruleset, nullptr, 0, 1UL);
    Qemu qemu;
    GuestContext guest(3, 30);
    guest.start();
    const std::string seen = guest.ask(FakeCall::reach);
    // One under a sanitizer that looks for leaks may trace itself.
    const bool tracer = seen.find(", a tracer") != std::string::npos && sanitized;
    const std::string memory = version >= 1 ? "no memory" : seen.substr(0, seen.find(','));
    const std::string network = version >= 4 ? ", no TCP, no ports" : ", TCP, ports";
    expect(seen == memory + (version >= 6 ? ", no signals" : ", signals") + network +
                       (version >= 6 ? ", no abstract sockets" : ", abstract sockets") + ", no limits" +
                       ", gives no children" + (tracer ? ", a tracer" : ", no tracer") + ", not traced, nor by other numbers, types nothing, sets none, and asks for a terminal's size",
           "what a worker reaches: " + seen);
}

// A host that does not keep workers from others says so; the worker works all the same.
void worker_without(long call, const std::string &told) {
    environment();
    char path[] = "virgl-confinement-log-XXXXXX";
    close(mkstemp(path));
    setenv("VIRGL_APIR_LOG_TO_FILE", path, 1);
    forbid(call, ENOSYS);
    {
        Qemu qemu;
        GuestContext guest(3, 30);
        guest.start();
        expect(guest.ask(FakeCall::echo, "works") == "works", "a worker that is not kept from others");
    }
    std::ostringstream log;
    log << std::ifstream(path).rdbuf();
    const std::string line = "[warn] the worker is not kept from other processes" + told + ": " + std::strerror(ENOSYS);
    expect(log.str().find(line) != std::string::npos, "its log: " + log.str());
    unlink(path);
}

void without_landlock() {
    worker_without(SYS_landlock_create_ruleset, ", their sockets and TCP: the kernel has no Landlock");
}
void without_its_rules() {
    worker_without(SYS_landlock_restrict_self, ", their sockets and TCP: landlock_restrict_self failed");
}
void without_seccomp() { worker_without(SYS_seccomp, "' limits, nor from terminals: seccomp failed"); }

} // namespace

int main(int count, char **values) {
    return run_cases({{"worker_is_confined", worker_is_confined},
                      {"cpus_that_are_none", cpus_that_are_none},
                      {"worker_is_kept_from_others", worker_is_kept_from_others},
                      {"without_landlock", without_landlock},
                      {"without_its_rules", without_its_rules},
                      {"without_seccomp", without_seccomp}},
                     count > 1 ? values[1] : nullptr);
}
