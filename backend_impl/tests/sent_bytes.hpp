// What a guest sent while this lived: its own call records, read back.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "call_log.hpp"
#include "guest_fake.hpp"

namespace apir::guest::test {

// A folder of its own for GGML_VIRTGPU_CALL_LOG; gone with this.
class CallRecords {
  public:
    CallRecords() : folder_(made()), variable_("GGML_VIRTGPU_CALL_LOG", folder_.c_str()) {}
    ~CallRecords() { std::filesystem::remove_all(folder_); }
    CallRecords(const CallRecords &) = delete;
    CallRecords &operator=(const CallRecords &) = delete;

    // Records that came since the last time this was asked, of the one session that writes here.
    std::vector<CallRecord> fresh() {
        std::vector<CallRecord> records;
        for (const auto &file : std::filesystem::directory_iterator(folder_)) {
            std::ifstream stream(file.path(), std::ios::binary);
            stream.seekg(static_cast<std::streamoff>(sizeof(CallLogHeader) + seen_ * sizeof(CallRecord)));
            CallRecord record;
            while (stream.read(reinterpret_cast<char *>(&record), sizeof record) && record.start_ns != 0) records.push_back(record);
        }
        seen_ += records.size();
        return records;
    }

  private:
    static std::string made() {
        std::string name = (std::filesystem::temp_directory_path() / "apir-calls-XXXXXX").string();
        return mkdtemp(name.data());
    }

    std::string folder_;
    Variable variable_;
    size_t seen_ = 0;
};

struct Sent {
    size_t calls = 0;
    uint64_t bytes = 0; // guest to host, commands and data
    std::map<uint32_t, int> by_call;
};

inline Sent sum(const std::vector<CallRecord> &records) {
    Sent sent;
    for (const CallRecord &record : records) {
        ++sent.calls;
        sent.bytes += record.bytes_out;
        ++sent.by_call[record.call];
    }
    return sent;
}

} // namespace apir::guest::test
