#include "trace.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

#include <new_file.hpp>

namespace apir::virgl {
namespace {

constexpr size_t header_size = 12;
// Of the calls that go along with another one: of ours it is one of up to 1 MiB. A guest may name the same data over and over.
constexpr uint64_t most_along = uint64_t{64} << 20;
// Above this a row's memory is given back.
constexpr size_t kept_row = size_t{1} << 20;

void add_hex(std::string &text, const uint8_t *bytes, size_t size) {
    constexpr const char *digits = "0123456789abcdef";
    size_t at = text.size();
    text.resize(at + size * 2);
    for (size_t i = 0; i < size; ++i) {
        text[at + 2 * i] = digits[bytes[i] >> 4];
        text[at + 2 * i + 1] = digits[bytes[i] & 15];
    }
}

void add_bytes(std::string &row, const char *name, const uint8_t *bytes, size_t size) {
    row += std::string(",\"") + name + "\":\"";
    add_hex(row, bytes, size);
    row += '"';
}

void add_number(std::string &row, const char *name, uint64_t number) {
    row += std::string(",\"") + name + "\":" + std::to_string(number);
}

} // namespace

Trace::~Trace() {
    if (fd_ >= 0) close(fd_);
}

bool Trace::open(const std::string &folder, const std::string &name, std::string &error) {
    std::string path;
    fd_ = make_new_file(folder, name, ".jsonl", O_WRONLY, path);
    if (fd_ >= 0) return true;
    error = "no trace: " + path + ": " + std::strerror(errno);
    return false;
}

// A row with a hole in it would be worse than none.
void Trace::give_up() {
    close(fd_);
    fd_ = -1;
    row_ = {};
}

// What cannot be written ends the trace.
void Trace::put() {
    const char *at = row_.data();
    size_t left = row_.size();
    while (left != 0) {
        ssize_t written = ::write(fd_, at, left);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) {
            return give_up();
        }
        at += written;
        left -= static_cast<size_t>(written);
    }
    row_.clear();
    if (row_.capacity() > kept_row) row_.shrink_to_fit();
}

void Trace::blob_added(uint32_t resource, uint64_t size) {
    if (!is_open()) return;
    row_ = "{\"ioctl\":\"RESOURCE_CREATE_BLOB\",\"result\":0";
    add_number(row_, "size", size);
    add_number(row_, "res_handle", resource);
    row_ += ",\"kind\":\"ioctl\"}\n";
    put();
}

const MappedBlob *Trace::data_of(const MeantData &data, uint64_t size) const {
    const MappedBlob *blob = size == 0 ? nullptr : blobs_->find(data.resource);
    return blob != nullptr && size <= blob->size ? blob : nullptr;
}

// For each call before the last one of a batch what the guest sends, "" where that is nothing; no key where it is nothing for all of them. False when
// it is too much.
bool Trace::add_data_along() {
    const std::vector<MeantData> &along = meant_.along;
    if (std::none_of(along.begin(), along.end(), [](const MeantData &each) { return each.bytes_out != 0; })) return true;
    uint64_t bytes = 0;
    const char *before = ",\"data_along\":[\"";
    for (const MeantData &each : along) {
        row_ += before;
        before = ",\"";
        if (const MappedBlob *data = data_of(each, each.bytes_out)) {
            bytes += each.bytes_out; // no more than the blob has: no overflow
            if (bytes > most_along) return false;
            add_hex(row_, data->data, each.bytes_out);
        }
        row_ += '"';
    }
    row_ += ']';
    return true;
}

void Trace::begin(CommandType type, const uint8_t *command, size_t size, const BlobTable &blobs) {
    if (!is_open()) return;
    blobs_ = &blobs;
    meant_ = MeantCall{};
    row_ = "{\"kind\":\"command\"";
    add_bytes(row_, "command", command, size);
    if (type == CommandType::handshake) row_ += ",\"call\":\"HandShake\"";
    if (type == CommandType::load_library) row_ += ",\"call\":\"LoadLibrary\"";
    if (type == CommandType::forward) {
        uint32_t call = 0;
        std::memcpy(&call, command + 4, sizeof call);
        meant_ = meant_call(call, command + header_size, size - header_size);
        add_number(row_, "call", call);
    }
    if (uint64_t bytes = meant_.bytes_out + meant_.bytes_in) {
        add_number(row_, "data_resource", meant_.resource);
        add_number(row_, "data_bytes", bytes);
    }
    if (!add_data_along()) return give_up();
    if (const MappedBlob *data = data_of(meant_, meant_.bytes_out)) add_bytes(row_, "data_in", data->data, meant_.bytes_out);
    put();
}

void Trace::end(uint32_t code, const uint8_t *reply, size_t reply_size, uint64_t start_ns, uint64_t duration_ns) {
    if (!is_open()) return;
    add_number(row_, "return_code", code);
    add_bytes(row_, "reply", reply, reply_size);
    if (const MappedBlob *data = data_of(meant_, meant_.bytes_in)) add_bytes(row_, "data_out", data->data, meant_.bytes_in);
    add_number(row_, "start_ns", start_ns);
    add_number(row_, "duration_ns", duration_ns);
    row_ += "}\n";
    put();
}

} // namespace apir::virgl
