// The host library behind a fake device: what the component does, in this process.
#pragma once

#include <atomic>
#include <map>
#include <mutex>

#include "guest_fake.hpp"

namespace apir::guest::test {

// Only one at a time: the host library's callbacks carry no pointer of ours.
class LibraryHost : public FakeHost {
  public:
    // `library` is our host library, `ggml_library` the backend library that it is to drive.
    LibraryHost(const char *library, const char *ggml_library, const char *threads = "2");
    ~LibraryHost() override;
    LibraryHost(const LibraryHost &) = delete;
    LibraryHost &operator=(const LibraryHost &) = delete;

    void on_command(const std::vector<uint8_t> &command) override;
    void on_blob(uint32_t resource, const Blob &blob) override;
    void on_blob_closed(uint32_t resource) override;

    // What the component does when the guest's context is gone; a next guest may follow.
    void end_context();

    // Of all resources that the guest has now.
    size_t shared_bytes();
    // How often each Forward call came, by itself or in a batch.
    std::map<uint32_t, int> calls();

    const char *config(const char *key);
    void *memory(uint32_t resource);

  protected:
    // What a component has its say in: commands are taken many at a time here, and carried out in order.
    uint64_t own_extensions = static_cast<uint64_t>(Extension::asynchronous);

  private:
    void add_own_extensions(const std::vector<char> &request, char *payload) const;
    void count(uint32_t call, Reader request);
    void serve(const CommandHeader &header, const std::vector<uint8_t> &command, const Blob &reply);

    void *library_ = nullptr;
    bool loaded_ = false;
    std::atomic<uint64_t> beats_{0};
    std::atomic<uint32_t> ending_{0};
    std::mutex mutex_;
    std::map<uint32_t, Blob> blobs_;
    std::map<uint32_t, int> calls_;
    std::map<std::string, std::string> config_;
};

} // namespace apir::guest::test
