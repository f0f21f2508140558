// Coming up: what is sent first, and that whatever is missing ends in a message and no device, never in an abort.
#include <chrono>

#include "guest/config.hpp"
#include "guest_fake.hpp"

using namespace apir;
using namespace apir::guest;
using namespace apir::guest::test;

namespace {

// One host per registry: resource ids begin anew with each device.

// Set-up fails, and the message names the cause.
void refuses(const std::string &what, ScriptedHost &host, const std::string &cause, DevicePlan plan = {}) {
    CapturedLog log;
    std::unique_ptr<Registry> registry = set_up(host, std::move(plan));
    expect(ggml_backend_reg_dev_count(&registry->reg) == 0, what + ": a device is offered");
    expect(ggml_backend_reg_dev_get(&registry->reg, 0) == nullptr, what + ": device 0 exists");
    expect(log.has("backend not available: "), what + ": nothing is said");
    expect(log.has(cause), what + ": the message does not say '" + cause + "' but: " + log.text());
}

void test_device_failures() {
    ScriptedHost host;
    DevicePlan plan;
    plan.nodes = {};
    refuses("no device", host, "no render node", plan);
    plan = {};
    plan.open = Status::failure("cannot open /fake/renderD128: Permission denied");
    refuses("no permission", host, "Permission denied", plan);
    plan = {};
    plan.caps = Status::failure("the device has no capset 4: Invalid argument");
    refuses("no capset", host, "no capset 4", plan);
    plan = {};
    plan.context = Status::failure("no context on capset 4: Invalid argument");
    refuses("no context", host, "no context on capset 4", plan);
    plan = {};
    plan.nodes = {"/fake/a", "/fake/b"};
    plan.open = Status::failure("not ours");
    refuses("two nodes", host, "not ours; not ours", plan);
    plan = {};
    plan.window = 0;
    refuses("no window at all", host, "handshake", plan);
    plan.window = reply_page_size + blob_granularity;
    refuses("no room for data", host, "no room for a data resource", plan);
    expect(host.sent(Call::negotiate).size() == 1, "a host library is loaded before the device is known to be usable");
}

// APIR may be behind the second GPU only.
void test_second_node() {
    ScriptedHost host;
    host.first_load_codes = {static_cast<uint32_t>(LoadCode::variable_missing)};
    DevicePlan plan;
    plan.nodes = {"/fake/a", "/fake/b"};
    std::unique_ptr<Registry> registry = set_up(host, plan);
    expect(registry->devices.size() == 1, "the second node is not tried");
    expect(host.open_blobs() == 2, "blobs of the first node are left: " + std::to_string(host.open_blobs()));
    ScriptedHost neither;
    neither.load_code = static_cast<uint32_t>(LoadCode::cannot_open);
    neither.first_load_codes = {static_cast<uint32_t>(LoadCode::variable_missing)};
    refuses("neither node", neither, "VIRGL_APIR_BACKEND_LIBRARY is not set on the host (code 3); the host library cannot be opened", plan);
}

void test_small_window() {
    ScriptedHost host;
    DevicePlan plan;
    plan.window = size_t{1} << 20;
    std::unique_ptr<Registry> registry = set_up(host, plan);
    expect(registry->devices.size() == 1, "a window smaller than a data page is too small");
}

void test_handshake() {
    ScriptedHost silent;
    silent.answers_handshake = false;
    auto start = std::chrono::steady_clock::now();
    refuses("no answer", silent, "VIRGL_ROUTE_VENUS_TO_APIR");
    auto waited = std::chrono::steady_clock::now() - start;
    expect(waited >= std::chrono::seconds(2) && waited < std::chrono::seconds(3), "the handshake waits for something else than 2 s");

    ScriptedHost wrong;
    wrong.handshake_code = 0;
    refuses("wrong magic", wrong, "not with 43806");
    ScriptedHost other;
    other.version = {7, 3};
    refuses("other major", other, "this guest speaks protocol 0.2, the host 7.3");
    expect(other.all().size() == 1, "a host of another major is asked on");
    ScriptedHost newer;
    newer.version = {0, 9};
    std::unique_ptr<Registry> registry = set_up(newer);
    expect(registry->devices.size() == 1, "another minor is refused");
}

void test_load_codes() {
    const std::pair<uint32_t, const char *> codes[] = {
        {1, "does not accept this guest"},    {2, "loaded already"},          {3, "VIRGL_APIR_BACKEND_LIBRARY is not set"},
        {4, "names no loadable file"},        {5, "lacks a symbol"},          {6, "did not initialise"},
        {9, "VIRGL_APIR_BACKEND_LIBRARY"},    {13, "backend library"},        {14, "APIR_LLAMA_CPP_GGML_LIBRARY_PATH"},
        {15, "backend library lacks symbols"}, {16, "registration symbol"},   {17, "backend failed"},
        {18, "no registry"},                  {19, "initialised before"},     {20, "offers no device"},
        {21, "gives no backend"},             {9999, "unknown reason (code 9999)"}};
    for (const auto &[code, text] : codes) {
        ScriptedHost host;
        host.load_code = code;
        refuses("load code " + std::to_string(code), host, text);
    }
    ScriptedHost dead;
    dead.load_code = static_cast<uint32_t>(ReturnCode::worker_lost);
    refuses("worker lost while loading", dead, "device is lost");
}

void test_hostile_device() {
    const std::pair<Call, std::vector<uint8_t>> answers[] = {
        {Call::device_get_name, {}},
        {Call::device_get_name, from_hex("0000000000000000")},
        {Call::device_get_name, from_hex("ffffffffffffffff41424344")},
        {Call::device_get_name, from_hex("040000000000000041424344")},
        {Call::device_get_description, from_hex("ff3f000000000000")},
        {Call::buffer_type_get_name, from_hex("0100000000000080")},
        {Call::device_get_count, from_hex("00000000")},
        {Call::device_get_count, from_hex("ffffffff")},
        {Call::buffer_type_get_alignment, from_hex("0000000000000000")},
        {Call::buffer_type_get_alignment, from_hex("1800000000000000")},
        {Call::buffer_type_get_alignment, from_hex("0000000000000080")},
    };
    for (const auto &[call, payload] : answers) {
        ScriptedHost host;
        host.answer(call, payload);
        CapturedLog log;
        std::unique_ptr<Registry> registry = set_up(host);
        expect(registry->devices.size() == 0,
               std::string(call_name(static_cast<uint32_t>(call))) + " answered " + hex(payload) + ": accepted");
    }
    for (Call call : {Call::device_get_count, Call::device_get_props, Call::device_get_buffer_type}) {
        for (uint32_t code : {0u, 1u, 5u, 10u, 63u, 64u, 0xfffffffeu}) {
            ScriptedHost host;
            host.refuse(call, code);
            CapturedLog log;
            expect(set_up(host)->devices.size() == 0, "refused set-up call accepted");
        }
    }
    const std::pair<std::string, std::string> names[] = {
        {"A\x1b[\n", "A?[?"},
        {"\xc2\x9b" "31m \x9b" "31m \x7f", "??31m ?31m ?"}, // as a terminal of UTF-8 and one of another kind have it
        {"Radeon\xe2\x84\xa2 \xc3\xa9 \xf0\x9f\x98\x80", "Radeon\xe2\x84\xa2 \xc3\xa9 \xf0\x9f\x98\x80"},
        {"caf\xe9 \xc0\x80 \xe0\x82\x9b \xed\xa0\x80 \xf5\x80 \xe2\x84", "caf? ?? ??? ??? ?? ??"}, // none of UTF-8
    };
    for (const auto &[told, shown] : names) {
        std::vector<uint8_t> answer(8);
        answer[0] = static_cast<uint8_t>(told.size() + 1);
        answer.insert(answer.end(), told.c_str(), told.c_str() + told.size() + 1);
        ScriptedHost odd;
        odd.answer(Call::device_get_name, answer);
        std::unique_ptr<Registry> registry = set_up(odd);
        const std::string name = ggml_backend_dev_name(registry->device());
        expect(name == "[virtgpu] " + shown, "a device's name is shown as " + name + ", not as " + shown);
    }
}

void test_old_host() {
    CapturedLog log;
    // Four booleans from an old host library; the fifth is what the page was before: zeroed by the guest.
    ScriptedHost host;
    host.answer(Call::device_get_props, from_hex("00ffffff00ffffff0050550000000000"));
    std::unique_ptr<Registry> registry = set_up(host);
    ggml_backend_dev_props props = {};
    ggml_backend_dev_get_props(registry->device(), &props);
    expect(!props.caps.mmap_support && !props.caps.async && !props.caps.events, "a missing fifth item is not false");
    ScriptedHost newer;
    newer.answer(Call::device_get_props, from_hex("00ffffff00ffffff00505500000000000158656f"));
    std::unique_ptr<Registry> other = set_up(newer);
    ggml_backend_dev_get_props(other->device(), &props);
    expect(props.caps.mmap_support, "the fifth item is not read");
    expect(newer.sent(Call::negotiate).size() == 1, "negotiation is not asked once per context");
    expect(log.text().empty(), "a host of 0.2 is nothing to be told of: " + log.text());
}

void test_facts() {
    ScriptedHost host;
    std::unique_ptr<Registry> registry = set_up(host);
    ggml_backend_dev_t device = ggml_backend_reg_dev_get(&registry->reg, 0);
    expect(std::string(ggml_backend_reg_name(&registry->reg)) == "ggml-virtgpu", "registry name");
    expect(std::string(ggml_backend_dev_name(device)) == "[virtgpu] FAKE0", "device name");
    expect(std::string(ggml_backend_dev_description(device)) == "A fake device (the host's CPU, over virtio-gpu)", "description");
    expect(ggml_backend_dev_type(device) == GGML_BACKEND_DEVICE_TYPE_GPU, "a host CPU is not told as GPU");
    expect(ggml_backend_dev_buffer_from_host_ptr(device, device, 8, 8) == nullptr, "a buffer from the guest's memory");
    expect(ggml_backend_dev_host_buffer_type(device) == nullptr, "a host buffer type");
    expect(ggml_backend_event_new(device) == nullptr, "an event");
    ggml_backend_buffer_type_t buft = ggml_backend_dev_buffer_type(device);
    expect(std::string(ggml_backend_buft_name(buft)) == "[virtgpu] FAKE", "buffer type name");
    expect(ggml_backend_buft_get_alignment(buft) == 32, "alignment");
    expect(ggml_backend_buft_get_max_size(buft) == SIZE_MAX, "max size");
    expect(!ggml_backend_buft_is_host(buft), "the buffer type calls itself host memory");
    expect(ggml_backend_buft_get_device(buft) == device, "the buffer type's device");
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    ggml_backend_dev_memory(device, &free_bytes, &total_bytes);
    ggml_backend_dev_memory(device, &free_bytes, &total_bytes);
    expect(free_bytes == 1000 && total_bytes == 2000, "memory");
    expect(host.sent(Call::device_get_memory).size() == 2, "memory is not read fresh");
    ggml_backend_dev_props props = {};
    for (int i = 0; i < 2; ++i) ggml_backend_dev_get_props(device, &props);
    expect(props.memory_free == 1000 && props.memory_total == 2000, "memory among the properties");
    expect(host.sent(Call::device_get_memory).size() == 4, "nor is that of the properties");
}

// Only a component that has the extension completes fences on that ring, and not every one completes fences at all.
void test_bunched_fences() {
    struct Host : ScriptedHost {
        void on_bunch_fences() override { ++asked; }
        int asked = 0;
    };
    auto asked = [](uint64_t accepted) {
        Host host;
        host.script(Call::negotiate, [accepted](Reader &, Writer &reply) {
            reply.u64(accepted);
            return ScriptedHost::ok;
        });
        set_up(host);
        return host.asked;
    };
    const uint64_t bunched = static_cast<uint64_t>(Extension::bunched_fences);
    expect(asked(bunched) == 1, "fences of a host that bunches them");
    expect(asked(~bunched & ~static_cast<uint64_t>(Extension::ring)) == 0, "fences of a host that does not");
    Variable off("GGML_VIRTGPU_EXTENSIONS", "-bunched_fences");
    expect(asked(bunched) == 0, "an extension that was not offered");
}

// Whether `is` holds of what is read while a variable has this value, and whether it is warned of.
template <typename Is> void reads(const char *name, const char *value, bool warns, Is is) {
    Variable variable(name, value);
    CapturedLog log;
    const bool holds = is(read_config());
    expect(holds && log.has(name) == warns, std::string(name) + "=" + value + ": " + log.text());
}

// What is documented is taken, and what is no such value is told and changes nothing.
void test_variables() {
    using namespace std::chrono_literals;
    const Config usual = read_config();
    const auto bit = [](Extension one) { return static_cast<uint64_t>(one); };
    for (auto [value, wanted] : {std::pair<const char *, std::optional<std::chrono::milliseconds>>{"1", 1ms}, {"86400000", 24h}, {"0", {}}, {"-5", {}}, {"86400001", {}},
                                 {"99999999999999999999", {}}, {"10s", {}}, {"ms", {}}}) {
        reads("GGML_VIRTGPU_GRAPH_DEADLINE_MS", value, !wanted, [wanted = wanted](const Config &config) { return config.graph_deadline == wanted; });
        reads("GGML_VIRTGPU_CALL_DEADLINE_MS", value, !wanted, [&, wanted = wanted](const Config &config) { return config.call_deadline == wanted.value_or(usual.call_deadline); });
    }
    for (auto [value, mib] : {std::pair<const char *, std::optional<size_t>>{"0", 0}, {"1048576", 1048576}, {"1048577", {}}, {"-1", {}}, {"-18446744073709551615", {}}, {"8M", {}},
                              {"99999999999999999999", {}}})
        reads("GGML_VIRTGPU_BUFFER_POOL_MIB", value, !mib, [mib = mib](const Config &config) { return config.buffer_pool_bytes == mib.value_or(64) << 20; });
    const uint64_t ring = bit(Extension::ring);
    const uint64_t batch = bit(Extension::batch);
    for (auto [value, wanted] : {std::pair<const char *, std::optional<uint64_t>>{"all", UINT64_MAX}, {"none", 0}, {"ring", ring}, {"ring,batch", ring | batch}, {"-ring", ~ring},
                                 {"-ring,-batch", ~(ring | batch)}, {"ring,batch,-ring", batch}, {"rings", {}}, {"ring,", {}}, {"-none", {}}, {"ring batch", {}}})
        reads("GGML_VIRTGPU_EXTENSIONS", value, !wanted, [wanted = wanted](const Config &config) { return config.extensions == wanted.value_or(UINT64_MAX); });
    for (auto [value, wanted] : {std::pair<const char *, bool>{"off", false}, {"auto", true}, {"Off", true}})
        reads("GGML_VIRTGPU_RING", value, value[0] == 'O', [wanted = wanted](const Config &config) { return config.ring == wanted; });
    for (auto [value, wanted] : {std::pair<const char *, LogLevel>{"error", LogLevel::error}, {"info", LogLevel::info}, {"debug", LogLevel::debug}, {"all", LogLevel::warn}})
        reads("GGML_VIRTGPU_LOG", value, wanted == LogLevel::warn, [wanted = wanted](const Config &config) { return config.log_level == wanted; });
    for (auto [value, wanted] : {std::pair<const char *, WriteBehindUse>{"on", WriteBehindUse::on}, {"off", WriteBehindUse::off}, {"1", WriteBehindUse::automatic}})
        reads("GGML_VIRTGPU_WRITE_BEHIND", value, value[0] == '1', [wanted = wanted](const Config &config) { return config.write_behind == wanted; });
    for (auto [value, wanted] : {std::pair<const char *, DataPath>{"shared", DataPath::shared}, {"copied", DataPath::copied}, {"blobs", DataPath::automatic}})
        reads("GGML_VIRTGPU_DATA_PATH", value, value[0] == 'b', [wanted = wanted](const Config &config) { return config.data_path == wanted; });
    for (const char *value : {"", "0", "1"}) // present, whatever it says
        reads("GGML_REMOTING_USE_APIR_CAPSET", value, false, [](const Config &config) { return config.use_apir_capset; });
    expect(!usual.use_apir_capset && usual.render_node.empty() && usual.call_log_folder.empty() && !usual.graph_deadline, "what is not set");

    ScriptedHost host;
    DevicePlan plan;
    plan.nodes = {"/fake/a", "/fake/b"};
    plan.open = Status::failure("not ours");
    Variable node("GGML_VIRTGPU_RENDER_NODE", "/fake/c");
    refuses("one node that was asked for", host, "backend not available: not ours\n", plan);
}

} // namespace

int main() {
    test_device_failures();
    test_second_node();
    test_small_window();
    test_handshake();
    test_load_codes();
    test_hostile_device();
    test_old_host();
    test_bunched_fences();
    test_facts();
    test_variables();
    return failures();
}
