// Call record files: whoever has the same name for its own takes no other's away.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "call_log.hpp"
#include "host_expect.hpp"

using namespace apir;
using namespace apir::test;

namespace {

CallLogHeader header_of(const std::filesystem::path &path) {
    CallLogHeader header{};
    std::ifstream(path, std::ios::binary).read(reinterpret_cast<char *>(&header), sizeof header);
    return header;
}

// As of processes that have one number, each in a container of its own.
void two_of_one_name(const std::filesystem::path &folder) {
    CallLog logs[3];
    std::string error;
    for (CallLog &log : logs) expect(log.open(folder.c_str(), "guest-1-0", CallSide::guest, 0, 4, &failures, error), error);
    for (int i = 0; i < 3; ++i) {
        logs[i].set_session(static_cast<uint64_t>(i) + 1);
        logs[i].count();
        logs[i].add({});
    }
    const char *names[] = {"guest-1-0.calls", "guest-1-0-2.calls", "guest-1-0-3.calls"};
    for (uint64_t i = 0; i < 3; ++i) {
        const CallLogHeader header = header_of(folder / names[i]);
        expect(std::memcmp(header.magic, "APIRCALL", sizeof header.magic) == 0 && header.session == i + 1 && header.written == 1,
               std::string(names[i]) + " has its own session and record");
    }
    expect_equal(std::distance(std::filesystem::directory_iterator(folder), {}), std::ptrdiff_t{3}, "files");
}

void no_folder() {
    CallLog log;
    std::string error;
    expect(!log.open("/no/such/folder", "guest-1-0", CallSide::guest, 0, 4, &failures, error), "a folder that is not there");
    expect(error == "cannot make the call record file /no/such/folder/guest-1-0.calls: No such file or directory", error);
}

} // namespace

int main() {
    char name[] = "call-log-test-XXXXXX";
    if (mkdtemp(name) == nullptr) return EXIT_FAILURE;
    two_of_one_name(name);
    std::filesystem::remove_all(name);
    no_folder();
    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
