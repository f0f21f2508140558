// The liar around ggml's CPU backend: what is refused, and what each lie does to z = (x + y) * y and to nothing else.
#include <abi/backend_interface.hpp>

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <numeric>
#include <unistd.h>

#include "host_expect.hpp"

using namespace apir::test;

namespace {

using Init = ggml_backend_reg_t (*)();

void *library() {
    static void *opened = dlopen(LIAR, RTLD_NOW | RTLD_LOCAL);
    if (opened == nullptr) std::fprintf(stderr, "%s\n", dlerror());
    return opened;
}

ggml_backend_reg_t registered(const char *lies) {
    setenv("GGML_LIAR_LIBRARY", GGML_CPU_LIBRARY, 0);
    if (lies == nullptr) unsetenv("GGML_LIAR");
    else setenv("GGML_LIAR", lies, 1);
    return reinterpret_cast<Init>(dlsym(library(), "ggml_backend_init"))();
}

// What the library says on standard error while `act` runs.
std::string said(const std::function<void()> &act) {
    std::fflush(stderr);
    FILE *kept = std::tmpfile();
    int before = dup(STDERR_FILENO);
    dup2(fileno(kept), STDERR_FILENO);
    act();
    std::fflush(stderr);
    dup2(before, STDERR_FILENO);
    close(before);
    std::string text(4096, '\0');
    ssize_t got = pread(fileno(kept), text.data(), text.size(), 0);
    text.resize(got < 0 ? 0 : static_cast<size_t>(got));
    std::fclose(kept);
    return text;
}

void refused(const char *lies, const char *why) {
    ggml_backend_reg_t registry = nullptr;
    std::string text = said([&] { registry = registered(lies); });
    expect(registry == nullptr, std::string("registered with ") + (lies == nullptr ? "nothing" : lies));
    expect(text.find(why) != std::string::npos, std::string(lies == nullptr ? "nothing" : lies) + " is refused with: " + text);
}

constexpr int elements = 6;

// z = (x + y) * y with x = 0 … 5 and y = 2, on the liar's device.
struct Example {
    ggml_backend_reg_t registry;
    ggml_backend_dev_t device = nullptr;
    ggml_backend_t backend = nullptr;
    ggml_context *context = nullptr;
    ggml_tensor *x, *y, *sum, *z;
    ggml_backend_buffer_t buffer = nullptr;
    ggml_cgraph *graph = nullptr;

    explicit Example(const char *lies) : registry(registered(lies)) {
        if (registry == nullptr) std::exit(1);
        device = ggml_backend_reg_dev_get(registry, 0);
        backend = ggml_backend_dev_init(device, nullptr);
        context = ggml_init({1 << 20, nullptr, true});
        x = ggml_new_tensor_1d(context, GGML_TYPE_F32, elements);
        y = ggml_new_tensor_1d(context, GGML_TYPE_F32, elements);
        sum = ggml_add(context, x, y);
        z = ggml_mul(context, sum, y);
        buffer = ggml_backend_alloc_ctx_tensors_from_buft(context, ggml_backend_dev_buffer_type(device));
        graph = ggml_new_graph(context);
        ggml_build_forward_expand(graph, z);
        fill();
    }
    ~Example() {
        ggml_backend_buffer_free(buffer);
        ggml_free(context);
        ggml_backend_free(backend);
    }

    void fill() {
        std::vector<float> values(elements);
        std::iota(values.begin(), values.end(), 0.0f);
        ggml_backend_tensor_set(x, values.data(), 0, sizeof(float) * elements);
        values.assign(elements, 2.0f);
        ggml_backend_tensor_set(y, values.data(), 0, sizeof(float) * elements);
        values.assign(elements, -1.0f);
        ggml_backend_tensor_set(sum, values.data(), 0, sizeof(float) * elements);
        ggml_backend_tensor_set(z, values.data(), 0, sizeof(float) * elements);
    }
    std::vector<float> result(ggml_status wanted = GGML_STATUS_SUCCESS) {
        expect_equal(static_cast<int>(ggml_backend_graph_compute(backend, graph)), static_cast<int>(wanted), "status");
        std::vector<float> values(elements);
        ggml_backend_tensor_get(z, values.data(), 0, sizeof(float) * elements);
        return values;
    }
};

const std::vector<float> right{4, 6, 8, 10, 12, 14};

void expect_result(const std::vector<float> &got, const std::vector<float> &wanted, const std::string &what) {
    std::string text;
    for (float value : got) text += " " + std::to_string(value);
    expect(got == wanted, what + ":" + text);
}

void test_what_cannot_be_followed_is_refused() {
    refused(nullptr, "GGML_LIAR is not set");
    refused("", "tells no lie");
    refused("honest;hang", "honest stands alone");
    refused("lie:nth=1", "there is no lie 'lie'; there are flip, wrong");
    refused("flip:nth=1", "it needs bit=N");
    refused("flip:bit=three", "bit is 'three', which is no number");
    refused("flip:bit=1,bit=2", "bit stands twice");
    refused("flip:bit", "'bit' is no key=value");
    refused("wrong:bit=1", "wrong has no key 'bit'");
    refused("wrong:op=ADDD", "ggml has no op 'ADDD'");
    refused("wrong:op=UNARY", "ggml has no op 'UNARY'"); // its results are of ABS, GELU and the like
    refused("deny:op=GLU", "ggml has no op 'GLU'");
    refused("wrong:nth=0", "nth counts from 1");
    refused("deny:nth=1", "deny has no key 'nth'");
    refused("slow:op=ADD", "it needs ms=N");
    refused("wrong:once=here", "once has to be an absolute path");
    refused("wrong:once=/nowhere/at/all", "nothing can be written in /nowhere/at");
    refused("@/nowhere/at/all", "the file /nowhere/at/all cannot be read");
}

void test_a_library_that_is_none_is_refused() {
    setenv("GGML_LIAR_LIBRARY", "", 1);
    refused("honest", "GGML_LIAR_LIBRARY is not set");
    setenv("GGML_LIAR_LIBRARY", "/nowhere.so", 1);
    refused("honest", "cannot open '/nowhere.so'");
    setenv("GGML_LIAR_LIBRARY", GGML_CPU_LIBRARY, 1);
    setenv("GGML_LIAR_REGISTRATION", "ggml_backend_nobody_reg", 1);
    refused("honest", "symbol 'ggml_backend_nobody_reg' not found");
    unsetenv("GGML_LIAR_REGISTRATION");
    Example afterwards("honest");
    expect_result(afterwards.result(), right, "after refusals");
}

void test_honest_is_the_wrapped_library() {
    Example honest("honest");
    expect(std::string(ggml_backend_reg_name(honest.registry)) == "CPU", "name of the registry");
    expect(std::string(ggml_backend_dev_name(honest.device)) == "CPU", "name of the device");
    expect(ggml_backend_dev_backend_reg(honest.device) == honest.registry, "registry of the device");
    expect(ggml_backend_get_device(honest.backend) == honest.device, "device of the backend");
    auto threads = reinterpret_cast<ggml_backend_set_n_threads_t>(
        ggml_backend_reg_get_proc_address(honest.registry, "ggml_backend_set_n_threads"));
    expect(threads != nullptr, "its functions by name");
    threads(honest.backend, 1);
    expect(ggml_backend_dev_supports_op(honest.device, honest.sum), "support");
    std::string text = said([&] { expect_result(honest.result(), right, "honest"); });
    expect(text.empty(), "honest says: " + text);
    auto score = reinterpret_cast<int (*)()>(dlsym(library(), "ggml_backend_score"));
    expect(score() > 0, "score");
}

void test_flip_changes_one_bit_of_one_element() {
    Example low("flip:op=MUL,bit=0");
    std::vector<float> got = low.result();
    expect(got[0] == std::nextafter(4.0f, 5.0f), "lowest bit of the first element");
    got[0] = 4;
    expect_result(got, right, "all others");
    Example sign("flip:op=MUL,bit=31,element=2");
    expect_result(sign.result(), {4, 6, -8, 10, 12, 14}, "sign of the third");
}

void test_wrong_is_felt_by_what_is_computed_from_it() {
    Example one("wrong:op=ADD,element=last");
    expect_result(one.result(), {4, 6, 8, 10, 12, 42}, "the last element of the sum");
    Example all("wrong:op=ADD");
    expect_result(all.result(), {12, 18, 24, 30, 36, 42}, "all of the sum");
    Example both("wrong:op=ADD,element=0;wrong:op=MUL,element=1");
    expect_result(both.result(), {12, 18, 8, 10, 12, 14}, "two lies");
}

void test_the_nth_result_is_the_nth_of_its_op() {
    Example second("wrong:op=MUL,nth=2,element=0");
    expect_result(second.result(), right, "first");
    expect_result(second.result(), {12, 6, 8, 10, 12, 14}, "second");
    expect_result(second.result(), right, "third");
    Example any("wrong:nth=4,element=0"); // ADD, MUL, ADD, MUL
    expect_result(any.result(), right, "first of any op");
    expect_result(any.result(), {12, 6, 8, 10, 12, 14}, "second of any op");
}

void test_stale_leaves_what_was_there() {
    Example stale("stale:op=MUL");
    expect_result(stale.result(), std::vector<float>(elements, -1.0f), "what was there");
    Example sum("stale:op=ADD");
    expect_result(sum.result(), std::vector<float>(elements, -2.0f), "computed from what was there");
}

void test_fail_ends_the_graph() {
    Example fails("fail:op=MUL,nth=1");
    fails.result(GGML_STATUS_FAILED);
    expect_result(fails.result(), right, "the next");
}

void test_support_is_denied_and_claimed() {
    Example denies("deny:op=ADD");
    expect(!ggml_backend_dev_supports_op(denies.device, denies.sum), "ADD is denied");
    expect(ggml_backend_dev_supports_op(denies.device, denies.z), "MUL is not");
    Example claims("claim:op=SOLVE_TRI");
    ggml_tensor *square = ggml_new_tensor_2d(claims.context, GGML_TYPE_F16, 4, 4);
    ggml_tensor *solved = ggml_add(claims.context, square, square);
    solved->op = GGML_OP_SOLVE_TRI;
    solved->src[1] = claims.x;
    expect(ggml_backend_dev_supports_op(claims.device, solved), "SOLVE_TRI is claimed");
    expect(ggml_backend_dev_supports_op(claims.device, claims.sum), "ADD is supported");
    expect_result(claims.result(), right, "other ops");
}

void test_slow_waits() {
    Example slow("slow:op=ADD,ms=150");
    auto begun = std::chrono::steady_clock::now();
    expect_result(slow.result(), right, "slow");
    expect(std::chrono::steady_clock::now() - begun >= std::chrono::milliseconds(150), "time");
}

long resident_kib() {
    std::ifstream file("/proc/self/statm");
    long size = 0, resident = 0;
    file >> size >> resident;
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

void test_leak_grows() {
    Example leaks("leak:op=ADD,bytes=4194304");
    leaks.result();
    long before = resident_kib();
    for (int i = 0; i < 4; ++i) expect_result(leaks.result(), right, "leak");
    expect(resident_kib() - before >= 15 * 1024, "growth: " + std::to_string(resident_kib() - before) + " KiB");
}

// How a process ends in which the example is computed; 0 when it was still computing after a second.
int end_of(const char *lies) {
    pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        alarm(1);
        Example(lies).result();
        std::_Exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : -1;
}

void test_hang_and_crash() {
    expect_equal(end_of("hang:op=MUL"), SIGALRM, "hang");
    expect_equal(end_of("crash:op=MUL"), SIGSEGV, "crash");
    expect_equal(end_of("crash:op=MUL,nth=2"), -1, "crash at a result that does not come");
}

void test_file_is_read_anew_and_once_is_once() {
    char folder[] = "/tmp/liar-XXXXXX";
    if (mkdtemp(folder) == nullptr) std::exit(1);
    std::string file = std::string(folder) + "/lies", mark = std::string(folder) + "/told";
    std::ofstream(file) << "# first\nwrong:op=MUL,element=0 ; stale:op=ADD,nth=7\n";
    Example first(("@" + file).c_str());
    expect_result(first.result(), {12, 6, 8, 10, 12, 14}, "from the file");
    std::ofstream(file) << "wrong:op=MUL,element=1,once=" << mark << "\n";
    Example second(("@" + file).c_str());
    expect_result(second.result(), {4, 18, 8, 10, 12, 14}, "from the new file");
    expect_result(second.result(), right, "once");
    expect(access(mark.c_str(), F_OK) == 0, "mark");
    unlink(mark.c_str());
    unlink(file.c_str());
    rmdir(folder);
}

void test_a_lie_says_once_that_it_is_told() {
    Example wrong("wrong:op=MUL");
    std::string text = said([&] {
        wrong.result();
        wrong.result();
    });
    expect(text == "ggml-liar: lies about MUL '" + std::string(wrong.z->name) + "': wrong:op=MUL\n", "it says: " + text);
}

// A library whose devices know themselves by their address, and that computes when it is waited for.
int with_two_devices() {
    setenv("GGML_LIAR_LIBRARY", TWO_DEVICES, 1);
    void *cards = dlopen(TWO_DEVICES, RTLD_NOW | RTLD_LOCAL);
    if (cards == nullptr) return 2;
    const int before = failures;
    Example example("wrong:op=ADD;wrong:op=MUL");
    expect(ggml_backend_dev_supports_buft(example.device, ggml_backend_dev_buffer_type(example.device)), "its own memory");
    expect(!ggml_backend_dev_supports_buft(example.device, ggml_backend_cpu_buffer_type()), "other memory");
    reinterpret_cast<void (*)()>(dlsym(cards, "cards_compute_when_awaited"))();
    ggml_cgraph *alone = ggml_new_graph(example.context);
    ggml_graph_add_node(alone, example.z);
    expect_equal(static_cast<int>(ggml_backend_graph_compute(example.backend, alone)), static_cast<int>(GGML_STATUS_SUCCESS), "status");
    std::vector<float> values(elements);
    ggml_backend_tensor_get(example.z, values.data(), 0, sizeof(float) * elements);
    expect_result(values, std::vector<float>(elements, 2.0f), "a graph of one node, of -1 * 2, spoilt when it is computed");
    expect_result(example.result(), {36, 54, 72, 90, 108, 126}, "two nodes");
    return failures - before;
}

// In another process, for one opens its library once.
void test_any_library_can_be_wrapped() {
    pid_t child = fork();
    if (child == 0) std::_Exit(with_two_devices());
    int status = 0;
    waitpid(child, &status, 0);
    expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "in front of two devices: status " + std::to_string(status));
}

} // namespace

int main(int, char **arguments) {
    return run_cases({{"any library", test_any_library_can_be_wrapped},
                      {"refusals", test_what_cannot_be_followed_is_refused},
                      {"no library", test_a_library_that_is_none_is_refused},
                      {"honest", test_honest_is_the_wrapped_library},
                      {"flip", test_flip_changes_one_bit_of_one_element},
                      {"wrong", test_wrong_is_felt_by_what_is_computed_from_it},
                      {"nth", test_the_nth_result_is_the_nth_of_its_op},
                      {"stale", test_stale_leaves_what_was_there},
                      {"fail", test_fail_ends_the_graph},
                      {"support", test_support_is_denied_and_claimed},
                      {"slow", test_slow_waits},
                      {"leak", test_leak_grows},
                      {"hang and crash", test_hang_and_crash},
                      {"file and once", test_file_is_read_anew_and_once_is_once},
                      {"says", test_a_lie_says_once_that_it_is_told}},
                     arguments[1]);
}
