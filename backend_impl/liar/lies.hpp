// What the liar is told to lie about.
//
//   GGML_LIAR=honest                    passes everything through
//   GGML_LIAR=KIND:key=value,key=value  a lie; several with ';' or a line each between them, '#' begins a comment
//   GGML_LIAR=@/path                    the same, from a file, read whenever the library is registered
//
//   flip:bit=N[,element=N]   one bit of one element (the first) of a result is the other one; bit 0 is the lowest, and behind the
//                            highest it begins anew
//   wrong[:element=N|last]   a result is wrong by twice its own size, 4 at least: all of it, or one element
//   stale                    a result is not computed: what was there before stays
//   fail                     the graph ends with a failure
//   deny                     says that it does not support the op
//   claim                    says that it supports the op; where the wrapped library does not, nothing is computed
//   slow:ms=N                waits before a result
//   hang, crash              never ends, ends the process
//   leak:bytes=N             allocates, and never frees
//
// Every kind takes op=NAME, as ggml describes it (ADD, GELU, …); any op without. All but deny and claim take nth=N (the Nth
// result of that op since the library was registered; every one without) and once=/path (only while there is no such file; it is
// made with the first lie).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <ggml.h>

namespace apir::liar {

// The configuration cannot be followed; the text says which part of it, and why.
struct Malformed : std::runtime_error {
    using std::runtime_error::runtime_error;
};

enum class Kind { flip, wrong, stale, fail, deny, claim, slow, hang, crash, leak };

constexpr uint64_t last_element = UINT64_MAX;

struct Lie {
    std::string text; // as it was written
    Kind kind;
    std::string op; // empty: any
    uint64_t nth = 0; // 0: every one
    uint64_t amount = 0; // bit, ms or bytes
    std::optional<uint64_t> element;
    std::string once; // empty: always

    bool about(const ggml_tensor &tensor) const { return op.empty() || op == ggml_op_desc(&tensor); }
};

// Throws Malformed.
std::vector<Lie> parsed(const std::string &text);
// Of GGML_LIAR, or of the file that it names. Throws Malformed.
std::vector<Lie> configured();

// The lies with the count of results that each was about, and what was leaked. Used by any thread.
class Liar {
  public:
    explicit Liar(std::vector<Lie> lies);

    // The lies that are to be told about a result, which is thereby counted.
    std::vector<const Lie *> due(const ggml_tensor &result);
    // The lie of that kind, deny or claim, about a tensor; null: none.
    const Lie *of_kind(Kind kind, const ggml_tensor &tensor) const;
    void leak(uint64_t bytes);
    // Says, for its first time, that a lie is told: the proof that it was.
    void note(const Lie &lie, const ggml_tensor &tensor);

  private:
    std::vector<Lie> lies_;
    std::unique_ptr<std::atomic<uint64_t>[]> seen_;
    std::unique_ptr<std::atomic<bool>[]> noted_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<char[]>> leaked_;
};

} // namespace apir::liar
