#include "op_signature.hpp"

#include <cstring>

#include "apir_gen.hpp"

namespace apir::guest {

namespace {

// From a tensor's shape to its flags there is nothing else, and no gap.
constexpr size_t told_from = offsetof(ggml_tensor, ne);
constexpr size_t told_size = offsetof(ggml_tensor, flags) + sizeof(ggml_tensor::flags) - told_from;
static_assert(told_size % sizeof(uint64_t) == 0 &&
              told_size == sizeof(ggml_tensor::ne) + sizeof(ggml_tensor::nb) + sizeof(ggml_tensor::op) +
                               sizeof(ggml_tensor::op_params) + sizeof(ggml_tensor::flags));

// MurmurHash3 (public domain, Austin Appleby) over words, twice with other constants: neither half tells of the other.
class Hash {
  public:
    void add(uint64_t word) {
        first_ = mixed(first_, word * 0x87c37b91114253d5, 31, 0x4cf5ad432745937f);
        second_ = mixed(second_, word * 0x9fb21c651e98df25, 33, 0xd6e8feb86659fd93);
    }

    void add(const void *bytes, size_t size) {
        const auto *from = static_cast<const uint8_t *>(bytes);
        for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
            uint64_t word = 0;
            std::memcpy(&word, from + at, sizeof word);
            add(word);
        }
    }

    OpSignature signature() const { return {finished(first_), finished(second_)}; }

  private:
    static uint64_t rotated(uint64_t word, int by) { return word << by | word >> (64 - by); }

    static uint64_t mixed(uint64_t state, uint64_t word, int by, uint64_t factor) {
        return rotated(state ^ rotated(word, by) * factor, 27) * 5 + 0x52dce729;
    }

    static uint64_t finished(uint64_t state) {
        state = (state ^ state >> 33) * 0xff51afd7ed558ccd;
        state = (state ^ state >> 33) * 0xc4ceb9fe1a85ec53;
        return state ^ state >> 33;
    }

    uint64_t first_ = 0;
    uint64_t second_ = 0x9e3779b97f4a7c15;
};

void add_tensor(Hash &hash, const ggml_tensor *tensor, bool with_name) {
    hash.add(static_cast<uint64_t>(tensor->type));
    hash.add(reinterpret_cast<const uint8_t *>(tensor) + told_from, told_size);
    if (!with_name || tensor->op != GGML_OP_NONE) return;
    char name[sizeof tensor->name] = {};
    std::memcpy(name, tensor->name, strnlen(tensor->name, sizeof name - 1));
    hash.add(name, sizeof name);
}

} // namespace

OpSignature signature_of(const ggml_tensor *op, SignatureParts parts) {
    constexpr size_t most = max_sources + 2;
    const ggml_tensor *tensors[most] = {op, op->view_src};
    for (size_t i = 0; i < max_sources; ++i) tensors[i + 2] = op->src[i];
    Hash hash;
    for (size_t i = 0; i < most; ++i) {
        if (tensors[i] == nullptr) continue;
        size_t same = 0;
        while (tensors[same] != tensors[i]) ++same;
        hash.add(i * most + same);
        if (i == 0 || parts.source_offsets) hash.add(tensors[i]->view_offs);
        if (same == i) add_tensor(hash, tensors[i], parts.leaf_names);
    }
    return hash.signature();
}

} // namespace apir::guest
