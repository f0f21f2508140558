// A message of a guest, with the content of the resources that it speaks of; and files of some of them, which are what findings,
// regressions and the corpus of the host library's fuzz target are kept as.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace apir::fuzz {

using Bytes = std::vector<uint8_t>;

struct Message {
    uint32_t call = 0;
    Bytes payload; // behind the header
    Bytes data; // at the start of the data resource
    Bytes memory; // at the end of the resource that buffers live in
};

// Little-endian: per message the call, the three lengths, the three contents. Total: what is cut off or too long is left out.
Bytes encoded(const std::vector<Message> &messages);
std::vector<Message> decoded(const uint8_t *bytes, size_t size);

void save(const std::string &path, const Bytes &bytes);
// Ends the program with a text when there is no such file.
Bytes load(const std::string &path);

} // namespace apir::fuzz
