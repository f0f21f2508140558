#include "trace_seed.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <apir_gen.hpp>

#include "call_seed.hpp"

namespace apir::fuzz {
namespace {

constexpr uint32_t number(Call call) { return static_cast<uint32_t>(call); }

// The value of a key of a JSON line: hex digits between quotes.
Bytes hex(const std::string &line, const char *key) {
    std::string start = std::string("\"") + key + "\":";
    size_t at = line.find(start);
    if (at == std::string::npos) return {};
    at = line.find('"', at + start.size() - 1) + 1;
    Bytes bytes;
    for (; at + 1 < line.size() && std::isxdigit(static_cast<unsigned char>(line[at])) != 0; at += 2)
        bytes.push_back(static_cast<uint8_t>(std::stoul(line.substr(at, 2), nullptr, 16)));
    return bytes;
}

bool is_address(uint64_t value) { return value >= uint64_t{1} << 40 && value < uint64_t{1} << 48; }

void replace_handles(Message &message, const Handles &handles) {
    bool types = message.call >= number(Call::buffer_type_get_name) && message.call <= number(Call::buffer_type_get_alloc_size);
    for (size_t at = 0; at + 8 <= message.payload.size(); at += 4) {
        uint64_t value;
        std::memcpy(&value, message.payload.data() + at, sizeof value);
        if (!is_address(value)) continue;
        value = types ? handles.type : handles.home;
        std::memcpy(message.payload.data() + at, &value, sizeof value);
    }
}

void move_graph(Message &message, const Handles &handles) {
    Graph graph;
    Reader reader(message.data.data(), message.data.size());
    if (!read(reader, graph)) return;
    for (TensorRecord &tensor : graph.tensors) {
        if (tensor.buffer != 0) tensor.buffer = handles.home;
        tensor.data %= HostWorld::memory_bytes / 2;
    }
    message.data = encoded_graph(widened(graph), message.call);
    message = with_graph_size(std::move(message));
}

void add_messages(const std::filesystem::path &path, const Handles &handles, std::vector<Message> &messages) {
    constexpr uint32_t forward = static_cast<uint32_t>(CommandType::forward);
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        Bytes command = hex(line, "command");
        Reader reader(command.data(), command.size());
        CommandHeader header;
        if (!read(reader, header) || header.type % venus_command_offset != forward) continue;
        Message message;
        message.call = header.flags;
        message.payload.assign(command.begin() + static_cast<std::ptrdiff_t>(reader.offset()), command.end());
        message.data = hex(line, "data_in");
        message.data.resize(std::min<size_t>(message.data.size(), HostWorld::data_bytes));
        if (message.call == number(Call::backend_graph_compute)) move_graph(message, handles);
        else replace_handles(message, handles);
        messages.push_back(std::move(message));
    }
}

} // namespace

std::vector<Message> recorded_messages(const std::string &folder, const Handles &handles) {
    std::vector<Message> messages;
    std::error_code missing;
    std::vector<std::filesystem::path> paths;
    for (const auto &entry : std::filesystem::directory_iterator(folder, missing))
        if (entry.path().extension() == ".jsonl") paths.push_back(entry.path());
    std::sort(paths.begin(), paths.end());
    for (const auto &path : paths) add_messages(path, handles, messages);
    return messages;
}

} // namespace apir::fuzz
