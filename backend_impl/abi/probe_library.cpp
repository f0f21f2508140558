// What the library itself says of its structs: sizes, the raw tensor's fields, the last op, the accepted API version.
#include "backend_interface.hpp"
#include "probe.hpp"

#include "../wire/apir_gen.hpp"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <sys/mman.h>
#include <unistd.h>

extern const char apir_stub_begin[];
extern const char apir_stub_end[];

namespace apir::abi {

namespace {

constexpr int expected_op_count = APIR_GGML_GENERATION == 0 ? 101 : 99; // libggml 0.27 and 1.0
constexpr size_t object_header = 32;   // struct ggml_object, which ggml_tensor_overhead() includes

using Context = std::unique_ptr<ggml_context, decltype(&ggml_free)>;

void expect(Findings &findings, const char *name, uint64_t expected, uint64_t found) {
    if (expected == found) {
        findings.fact(name, std::to_string(found));
    } else {
        findings.moved(name, "expected " + std::to_string(expected) + ", found " + std::to_string(found));
    }
}

template <typename T> T field(const ggml_tensor *tensor, size_t offset) {
    T value;
    std::memcpy(&value, reinterpret_cast<const char *>(tensor) + offset, sizeof value);
    return value;
}

// A view with a name, made by the library: its bytes must hold what was asked for at the offsets of the wire.
void probe_tensor(Findings &findings) {
    set_current("ggml_tensor");
    expect(findings, "sizeof(ggml_tensor)", RawTensor::wire_size, ggml_tensor_overhead() - object_header);
    Context context(ggml_init({size_t{1} << 20, nullptr, false}), ggml_free);
    ggml_tensor *whole = ggml_new_tensor_2d(context.get(), GGML_TYPE_F16, 6, 5);
    ggml_tensor *view = ggml_view_2d(context.get(), whole, 3, 2, 12, 24);
    ggml_set_name(view, "probe");
    ggml_tensor *sum = ggml_scale(context.get(), view, 2.0F);
    expect(findings, "ggml_tensor.type", GGML_TYPE_F16, field<uint32_t>(view, offsetof(ggml_tensor, type)));
    expect(findings, "ggml_tensor.ne", 3, field<uint64_t>(view, offsetof(ggml_tensor, ne)));
    expect(findings, "ggml_tensor.nb", 12, field<uint64_t>(view, offsetof(ggml_tensor, nb) + 8));
    expect(findings, "ggml_tensor.op", GGML_OP_SCALE, field<uint32_t>(sum, offsetof(ggml_tensor, op)));
    float scale = field<float>(sum, offsetof(ggml_tensor, op_params));
    expect(findings, "ggml_tensor.op_params", 2, static_cast<uint64_t>(scale));
    expect(findings, "ggml_tensor.src is set", 1, field<void *>(sum, offsetof(ggml_tensor, src)) == view);
    expect(findings, "ggml_tensor.view_src is set", 1, field<void *>(view, offsetof(ggml_tensor, view_src)) == whole);
    expect(findings, "ggml_tensor.view_offs", 24, field<uint64_t>(view, offsetof(ggml_tensor, view_offs)));
    expect(findings, "ggml_tensor.data is set", 1, field<void *>(view, offsetof(ggml_tensor, data)) == ggml_get_data(view));
    bool named = std::strcmp(reinterpret_cast<const char *>(view) + offsetof(ggml_tensor, name), "probe") == 0;
    expect(findings, "ggml_tensor.name is set", 1, named);
    ggml_set_param(whole);
    expect(findings, "ggml_tensor.flags", GGML_TENSOR_FLAG_PARAM, field<uint32_t>(whole, offsetof(ggml_tensor, flags)));
}

void probe_ops(Findings &findings) {
    set_current("GGML_OP_COUNT");
    findings.fact("ggml", ggml_version());
    expect(findings, "GGML_OP_COUNT", expected_op_count, GGML_OP_COUNT);
    // The header's last op is the library's too, or the numbers of ops have moved.
    const char *last = ggml_op_name(GGML_OP_GLU);
    expect(findings, "GGML_OP_GLU is the last op", GGML_OP_COUNT - 1, GGML_OP_GLU);
    if (std::strcmp(last, "GLU") == 0) {
        findings.fact("last op", last);
    } else {
        findings.moved("last op", std::string("expected GLU, found ") + last);
    }
}

// The record of the wire as our codec lays it out: a byte of each field, found where protocol 0.2 wants it.
void probe_record(Findings &findings) {
    TensorRecord record;
    record.ne[0] = 1;
    record.op_params[0] = 2;
    record.src[0] = 3;
    record.data = 4;
    record.name[0] = 5;
    uint8_t bytes[512] = {};
    Writer writer(bytes, sizeof bytes);
    write(writer, record);
    expect(findings, "size of TensorRecord", 304, writer.size());
    expect(findings, "TensorRecord.ne", 1, bytes[24]);
    expect(findings, "TensorRecord.op_params", 2, bytes[60]);
    expect(findings, "TensorRecord.src", 3, bytes[128]);
    expect(findings, "TensorRecord.data", 4, bytes[224]);
    expect(findings, "TensorRecord.name", 5, bytes[232]);
}

bool accepted(const std::string &stub, int version) {
    setenv("APIR_STUB_API_VERSION", std::to_string(version).c_str(), 1);
    ggml_backend_reg_t registry = ggml_backend_load(stub.c_str());
    if (registry == nullptr) return false;
    ggml_backend_unload(registry);
    return true;
}

// Loads the embedded stub with one API version after the other: exactly ours has to be taken.
void probe_api_version(Findings &findings) {
    set_current("api_version");
    int file = memfd_create("apir-abi-stub", 0);
    size_t size = static_cast<size_t>(apir_stub_end - apir_stub_begin);
    if (file < 0 || ::write(file, apir_stub_begin, size) != static_cast<ssize_t>(size)) {
        findings.moved("api_version", "the stub library could not be written to memory");
        return;
    }
    // Eight refusals are meant: they are no news for whoever runs the probe.
    ggml_log_set([](ggml_log_level, const char *, void *) {}, nullptr);
    std::string stub = "/proc/self/fd/" + std::to_string(file);
    std::string taken;
    for (int version = 1; version <= 9; ++version) {
        if (accepted(stub, version)) taken += (taken.empty() ? "" : ",") + std::to_string(version);
    }
    close(file);
    ggml_log_set(nullptr, nullptr);
    if (taken == std::to_string(APIR_GGML_API)) {
        findings.fact("api_version", taken);
    } else {
        findings.moved("api_version", "expected " + std::to_string(APIR_GGML_API) + ", the library takes " +
                                          (taken.empty() ? "none of 1 to 9" : taken));
    }
}

} // namespace

void probe_library(Findings &findings) {
    probe_ops(findings);
    probe_tensor(findings);
    probe_record(findings);
    probe_api_version(findings);
}

} // namespace apir::abi
