#include "message.hpp"

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>

#include <reader.hpp>
#include <writer.hpp>

namespace apir::fuzz {
namespace {

constexpr size_t most_messages = 1024;

Bytes content(Reader &reader, uint32_t size) {
    const uint8_t *at = reader.bytes(size);
    return at == nullptr ? Bytes{} : Bytes(at, at + size);
}

} // namespace

Bytes encoded(const std::vector<Message> &messages) {
    size_t size = 0;
    for (const Message &each : messages) size += 16 + padded(each.payload.size()) + padded(each.data.size()) + padded(each.memory.size());
    Bytes bytes(size);
    Writer writer(bytes.data(), bytes.size());
    for (const Message &each : messages) {
        writer.u32(each.call);
        for (const Bytes *part : {&each.payload, &each.data, &each.memory}) writer.u32(static_cast<uint32_t>(part->size()));
        for (const Bytes *part : {&each.payload, &each.data, &each.memory}) writer.bytes(part->data(), part->size());
    }
    return bytes;
}

std::vector<Message> decoded(const uint8_t *bytes, size_t size) {
    std::vector<Message> messages;
    Reader reader(bytes, size);
    while (reader.remaining() >= 16 && messages.size() < most_messages) {
        Message message;
        message.call = reader.u32();
        uint32_t sizes[3] = {reader.u32(), reader.u32(), reader.u32()};
        message.payload = content(reader, sizes[0]);
        message.data = content(reader, sizes[1]);
        message.memory = content(reader, sizes[2]);
        messages.push_back(std::move(message));
    }
    return messages;
}

void save(const std::string &path, const Bytes &bytes) {
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char *>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (!file.flush()) std::cerr << "cannot write '" << path << "'\n";
}

Bytes load(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        std::cerr << "cannot read '" << path << "'\n";
        std::exit(2);
    }
    return Bytes(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

} // namespace apir::fuzz
