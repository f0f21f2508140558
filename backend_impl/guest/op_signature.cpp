#include "op_signature.hpp"

#include <cstring>

#include "apir_gen.hpp"
#include "wire/short_copies.hpp"

namespace apir::guest {

namespace {

// From a tensor's shape to its flags there is nothing else, and no gap.
constexpr size_t told_from = offsetof(ggml_tensor, ne);
constexpr size_t told_size = offsetof(ggml_tensor, flags) + sizeof(ggml_tensor::flags) - told_from;
static_assert(told_size % (2 * sizeof(uint64_t)) == sizeof(uint64_t) &&
              told_size == sizeof(ggml_tensor::ne) + sizeof(ggml_tensor::nb) + sizeof(ggml_tensor::op) +
                               sizeof(ggml_tensor::op_params) + sizeof(ggml_tensor::flags));

// Two words at a time, multiplied to 128 bits that are folded into 64, as wyhash (public domain, Wang Yi) has it; twice with other constants
// and the words in each other's place: neither half tells of the other. Programs that describe their graph for each token ask for
// thousands of signatures, and a multiplication is the one instruction that mixes as much in an emulated machine as elsewhere.
class Hash {
  public:
    void add(uint64_t one, uint64_t other) {
        first_ = folded(first_ ^ one, other ^ 0xe7037ed1a0b428db);
        second_ = folded(one ^ 0x8ebc6af09c88c6e3, second_ ^ other);
    }

    // A multiple of 16.
    void add(const void *bytes, size_t size) {
        const auto *from = static_cast<const uint8_t *>(bytes);
        for (size_t at = 0; at < size; at += 2 * sizeof(uint64_t)) add(word_at(from + at), word_at(from + at + sizeof(uint64_t)));
    }

    static uint64_t word_at(const uint8_t *from) {
        uint64_t word = 0;
        std::memcpy(&word, from, sizeof word);
        return word;
    }

    OpSignature signature() const { return {folded(first_, 0x589965cc75374cc3), folded(second_, 0x1d8e4e27c47d124f)}; }

  private:
    __extension__ using Wide = unsigned __int128;

    static uint64_t folded(uint64_t one, uint64_t other) {
        const Wide product = static_cast<Wide>(one) * other;
        return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
    }

    uint64_t first_ = 0x2d358dccaa6c78a5;
    uint64_t second_ = 0x9e3779b97f4a7c15;
};

void add_tensor(Hash &hash, const ggml_tensor *tensor, bool with_name) {
    const auto *told = reinterpret_cast<const uint8_t *>(tensor) + told_from;
    hash.add(static_cast<uint64_t>(tensor->type), Hash::word_at(told));
    hash.add(told + sizeof(uint64_t), told_size - sizeof(uint64_t));
    if (!with_name || tensor->op != GGML_OP_NONE) return;
    each_word_of_name(tensor->name, [&hash](uint64_t word, size_t at) { hash.add(word, at); });
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
        hash.add(i * most + same, told_offset(tensors[i], i == 0 ? UINT64_MAX : parts.offset_bits));
        if (same == i) add_tensor(hash, tensors[i], parts.leaf_names);
    }
    return hash.signature();
}

} // namespace apir::guest
