// How the APIR capset gets onto QEMU's list, and when the component refuses to start.
#include <dlfcn.h>

#include <fstream>
#include <sstream>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "virgl_forbid.hpp"
#include "virgl_qemu.hpp"

using namespace apir;
using namespace apir::test;

const std::vector<uint32_t> &fake_appended();

namespace {

struct Module {
    explicit Module(const char *path) : handle(dlopen(path, RTLD_LAZY | RTLD_LOCAL)) {
        if (handle == nullptr) std::fprintf(stderr, "%s\n", dlerror());
        append = reinterpret_cast<void (*)(uint32_t)>(dlsym(handle, "module_append"));
        ask = reinterpret_cast<void (*)()>(dlsym(handle, "module_ask"));
    }
    void *handle;
    void (*append)(uint32_t);
    void (*ask)();
};

uint32_t capset_size_of(uint32_t set) {
    uint32_t version = 0;
    uint32_t size = 0;
    virgl_renderer_get_cap_set(set, &version, &size);
    return size;
}

// Runs `act` in a process of its own and returns its exit status; `said` becomes what it wrote to stderr.
int status_of(void (*act)(), std::string &said) {
    char path[] = "virgl-capset-test-XXXXXX";
    int fd = mkstemp(path);
    pid_t child = fork();
    if (child == 0) {
        dup2(fd, STDERR_FILENO);
        act();
        std::_Exit(77);
    }
    int status = 0;
    waitpid(child, &status, 0);
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    said = text.str();
    close(fd);
    unlink(path);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void advertised() {
    setenv("VIRGL_APIR_ADVERTISE_CAPSET", "1", 1);
    Module module(FAKE_MODULE);
    for (uint32_t capset : {1u, 2u, 4u}) module.append(capset);
    expect(fake_appended() == std::vector<uint32_t>{1, 2, 4, 10}, "behind Venus's");
    Qemu qemu;
    expect_equal(capset_size_of(10), 24u, "size");
    expect_equal(capset_size_of(4), 160u, "Venus's own stays");
    uint32_t caps[6] = {9, 9, 9, 9, 9, 9};
    virgl_renderer_fill_caps(10, 0, caps);
    expect(caps[0] == 1 && caps[1] == 1 && caps[2] == 0 && caps[5] == 0, "data");
    expect_equal(virgl_renderer_context_create_with_flags(3, 10, 4, "test"), 0, "a context on it");
    expect_equal(virgl_apir_configure_kv(3, "key", "value"), 0, "is ours");
    expect_equal(virgl_renderer_context_create_with_flags(4, 4, 4, "test"), 0, "one on Venus's");
    expect_equal(virgl_apir_configure_kv(4, "key", "value"), -1, "is not");
}

// `1` asks for it; `0` and nothing do not.
void not_asked_for(const char *value) {
    setenv("VIRGL_APIR_ADVERTISE_CAPSET", value, 1);
    Module module(FAKE_MODULE);
    for (uint32_t capset : {1u, 2u, 4u}) module.append(capset);
    expect(fake_appended() == std::vector<uint32_t>{1, 2, 4}, "nothing of ours on the list");
    Qemu qemu;
    expect_equal(capset_size_of(10), 0u, "no such capset");
    virgl_renderer_context_create_with_flags(3, 10, 4, "test");
    expect_equal(virgl_apir_configure_kv(3, "key", "value"), -1, "a context on it is not ours");
}

void not_advertised() {
    setenv("VIRGL_ROUTE_VENUS_TO_APIR", "1", 1);
    Module module(FAKE_MODULE);
    for (uint32_t capset : {1u, 2u, 4u}) module.append(capset);
    expect(fake_appended() == std::vector<uint32_t>{1, 2, 4}, "nothing of ours on the list");
    expect_equal(capset_size_of(10), 0u, "no such capset");
    expect_equal(capset_size_of(4), 160u, "Venus's size");
    uint32_t caps[40];
    std::memset(caps, 9, sizeof caps);
    virgl_renderer_fill_caps(4, 0, caps);
    expect(caps[0] == 1 && caps[1] == 1 && caps[2] == 0 && caps[39] == 0, "our data in Venus's size");
}

void inactive() {
    Module module(FAKE_MODULE_LATER);
    module.ask();
    Qemu qemu;
    virgl_renderer_context_create_with_flags(3, 4, 4, "test");
    expect_equal(virgl_apir_configure_kv(3, "key", "value"), -1, "without a variable nothing is ours");
}

void never_on_the_list() {
    std::string said;
    setenv("VIRGL_APIR_ADVERTISE_CAPSET", "1", 1);
    int status = status_of([] { Qemu qemu; }, said);
    expect_equal(status, 1, "ends at init");
    expect(said.find("VIRGL_APIR_ADVERTISE_CAPSET is set, but QEMU never put capset 4 on its list") != std::string::npos,
           "says: " + said);
    // Somebody else's list with a 4 in it is not QEMU's.
    status = status_of(
        [] {
            Module other(FAKE_OTHER_MODULE);
            other.append(4);
            Qemu qemu;
        },
        said);
    expect_equal(status, 1, "a call from another module");
}

void unknown_import() {
    std::string said;
    setenv("VIRGL_ROUTE_VENUS_TO_APIR", "1", 1);
    int status = status_of([] { Module(FAKE_MODULE_LATER).ask(); }, said);
    expect_equal(status, 1, "ends at the first question");
    expect(said.find("does not know: virgl_renderer_unheard_of") != std::string::npos, "says: " + said);
    status = status_of([] { Module(FAKE_MODULE).ask(); }, said);
    expect_equal(status, 77, "a module with known imports");
}

void no_shared_memory() {
    std::string said;
    setenv("VIRGL_ROUTE_VENUS_TO_APIR", "1", 1);
    const int status = status_of(
        [] {
            forbid(SYS_memfd_create, ENOSYS);
            Qemu qemu;
        },
        said);
    expect_equal(status, 1, "ends at init");
    expect(said.find("refusing to start: the component cannot be set up: memfd_create: Function not implemented") != std::string::npos, "says: " + said);
}

} // namespace

int main(int count, char **values) {
    return run_cases({{"advertised", advertised},
                      {"zero", [] { not_asked_for("0"); }},
                      {"empty", [] { not_asked_for(""); }},
                      {"not_advertised", not_advertised},
                      {"inactive", inactive},
                      {"never_on_the_list", never_on_the_list},
                      {"unknown_import", unknown_import},
                      {"no_shared_memory", no_shared_memory}},
                     count > 1 ? values[1] : nullptr);
}
