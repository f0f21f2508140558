// The floor of the host's own copying: what the host says of it is what the row has, unless that cannot be.
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "bench/clock.hpp"
#include "bench/echo_call.hpp"
#include "bench/floors.hpp"
#include "guest_fake.hpp"

using namespace apir;
using namespace apir::bench;
using namespace apir::guest::test;

namespace {

// The benchmark's host library, but that it copies nothing, takes its time, and says of that what it is told to.
class EchoHost : public ScriptedHost {
  public:
    EchoHost() {
        script(static_cast<Call>(echo_call), [](Reader &, Writer &) { return ok; });
        script(static_cast<Call>(copy_call), [this](Reader &request, Writer &reply) {
            for (uint32_t &word : asked) word = request.u32();
            const uint64_t until = now_ns() + 1'000'000;
            while (now_ns() < until) {}
            if (says) reply.u64(*says);
            return code;
        });
    }

    uint32_t code = ok;
    std::optional<uint64_t> says;
    uint32_t asked[5] = {};
};

// The row, or the failure's text.
std::string answer_of(Floors &floors) {
    try {
        Row row;
        floors.host_copy(Request("host_copy size=2097152 direction=from rounds=2"), row);
        return row.line();
    } catch (const Failure &failure) {
        return failure.what();
    }
}

void expect_answer(Floors &floors, const std::string &wanted) {
    const std::string got = answer_of(floors);
    expect(got == wanted, got + ", expected " + wanted);
}

} // namespace

int main() {
    EchoHost host;
    Floors floors(std::make_unique<FakeDevice>(DevicePlan{}, host));
    host.says = 1234;
    expect_answer(floors, R"({"size": 2097152, "memcpy": [1234, 1234], "past_caches": [1234, 1234]})");
    const uint32_t last[] = {host.asked[0], 0, 1, 1024, 2048};
    expect(std::memcmp(host.asked, last, sizeof last) == 0, "a window of a mebibyte, both of them, in this direction");
    // What it said last is still there, but for the guest's zeros.
    host.says.reset();
    expect_answer(floors, "the host does not say how long it copied");
    host.says = 0;
    expect_answer(floors, "the host does not say how long it copied");
    for (uint64_t more : {uint64_t{60'000'000'000}, UINT64_MAX}) {
        host.says = more;
        expect_answer(floors, "the host says that it copied for longer than its answer took");
    }
    host.says = 1234;
    host.code = static_cast<uint32_t>(ReturnCode::call_failed);
    expect_answer(floors, "the host did not copy");
    host.code = ScriptedHost::ok;
    expect(answer_of(floors).find("1234") != std::string::npos, "it goes on after all that");
    return failures();
}
