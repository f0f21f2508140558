// What abi-probe's parts share.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>

namespace apir::abi {

// Collects findings. Every line goes out at once: a library that crashes on a wrong layout leaves what was found so far.
class Findings {
  public:
    void proved(const char *name, size_t offset) { std::printf("ok: %s 0x%02zx\n", name, offset); }
    // A slot that no public function reaches: its neighbours are proved.
    void between(const char *name, size_t offset) { std::printf("between: %s 0x%02zx no accessor\n", name, offset); }
    void fact(const char *name, const std::string &value) { std::printf("fact: %s %s\n", name, value.c_str()); }
    void moved(const char *name, const std::string &why) {
        ++moved_;
        std::printf("moved: %s %s\n", name, why.c_str());
    }
    int count() const { return moved_; }

  private:
    int moved_ = 0;
};

void probe_slots(Findings &findings);   // each slot of the interface structs
void probe_library(Findings &findings); // sizes, ggml_tensor, op count, accepted API version

// The accessor under test, for the message when the library crashes in it.
void set_current(const char *name);

} // namespace apir::abi
