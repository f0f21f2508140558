// Signatures of ops: each bit that the host is told changes both halves, each change in its own way, and what it is not told changes none.
#include <array>
#include <cstring>
#include <set>

#include "guest/op_signature.hpp"
#include "guest/tensor_encoding.hpp"
#include "guest_fake.hpp"

using namespace apir::guest;
using namespace apir::guest::test;

namespace {

constexpr SignatureParts all_parts{true, UINT64_MAX};

// An op, its sources and its view source, as a graph has them.
struct Op {
    std::array<ggml_tensor, 5> tensors{};
    ggml_tensor &op = tensors[0];

    Op() {
        for (size_t i = 0; i < tensors.size(); ++i) {
            ggml_tensor &tensor = tensors[i];
            tensor.op = i == 0 ? GGML_OP_MUL_MAT : GGML_OP_NONE;
            for (int d = 0; d < GGML_MAX_DIMS; ++d) {
                tensor.ne[d] = 1;
                tensor.nb[d] = 4;
            }
        }
        for (size_t i = 1; i < 4; ++i) op.src[i - 1] = &tensors[i];
        op.view_src = &tensors[4];
    }
    Op(const Op &) = delete;
    Op &operator=(const Op &) = delete;
};

struct Field {
    const char *name;
    size_t at;
    size_t size;
    size_t bits = 8 * size;
};

constexpr size_t type_bits = 6; // what an enumeration of some forty values can hold

const Field told[] = {
    {"type", offsetof(ggml_tensor, type), sizeof(ggml_tensor::type), type_bits},
    {"ne", offsetof(ggml_tensor, ne), sizeof(ggml_tensor::ne)},
    {"nb", offsetof(ggml_tensor, nb), sizeof(ggml_tensor::nb)},
    {"op_params", offsetof(ggml_tensor, op_params), sizeof(ggml_tensor::op_params)},
    {"flags", offsetof(ggml_tensor, flags), sizeof(ggml_tensor::flags)},
    {"view_offs", offsetof(ggml_tensor, view_offs), sizeof(ggml_tensor::view_offs)},
};
const Field untold[] = {
    {"buffer", offsetof(ggml_tensor, buffer), sizeof(ggml_tensor::buffer)},
    {"data", offsetof(ggml_tensor, data), sizeof(ggml_tensor::data)},
    {"extra", offsetof(ggml_tensor, extra), sizeof(ggml_tensor::extra)},
};

// `look` sees the signature with each bit of the field turned.
template <typename Look> void turn_each_bit(Op &op, ggml_tensor &tensor, const Field &field, Look look) {
    auto *bytes = reinterpret_cast<uint8_t *>(&tensor) + field.at;
    for (size_t bit = 0; bit < field.bits; ++bit) {
        bytes[bit / 8] ^= static_cast<uint8_t>(1U << bit % 8);
        look(signature_of(&op.op, all_parts));
        bytes[bit / 8] ^= static_cast<uint8_t>(1U << bit % 8);
    }
}

void every_bit_that_is_told() {
    Op op;
    std::set<uint64_t> first;
    std::set<uint64_t> second;
    size_t asked = 0;
    auto distinct = [&](const OpSignature &signature, const std::string &what) {
        ++asked;
        expect(first.insert(signature.first).second && second.insert(signature.second).second, what + " is told from all others");
    };
    distinct(signature_of(&op.op, all_parts), "the op as it is");
    for (size_t i = 0; i < op.tensors.size(); ++i)
        for (const Field &field : told)
            turn_each_bit(op, op.tensors[i], field, [&](const OpSignature &signature) {
                distinct(signature, "tensor " + std::to_string(i) + ", a bit of " + field.name);
            });
    expect(asked > 5 * 1000, "thousands of them");
}

void nothing_else() {
    Op op;
    const OpSignature as_it_is = signature_of(&op.op, all_parts);
    for (ggml_tensor &tensor : op.tensors)
        for (const Field &field : untold)
            turn_each_bit(op, tensor, field, [&](const OpSignature &signature) { expect(signature == as_it_is, field.name); });
    std::strcpy(op.op.name, "computed");
    expect(signature_of(&op.op, all_parts) == as_it_is, "the name of what is computed");
    std::strcpy(op.tensors[1].name, "leaf");
    constexpr SignatureParts nameless{false, UINT64_MAX};
    expect(signature_of(&op.op, nameless) == signature_of(&Op().op, nameless), "a leaf's name where none goes along");
    expect(!(signature_of(&op.op, all_parts) == as_it_is), "a leaf's name");
    op.tensors[2].view_offs = 16;
    expect(signature_of(&op.op, {}) == signature_of(&Op().op, {}), "a source's place in what it is a view of, where it does not go along");
    for (const uint64_t bits : {15, 31}) {
        const SignatureParts aligned{false, bits};
        expect((signature_of(&op.op, aligned) == signature_of(&Op().op, aligned)) == (bits == 15), "how it is aligned alone");
    }
}

// The same tensors in other places, and one tensor twice.
void which_is_which() {
    Op op;
    op.tensors[2].ne[0] = 2;
    const OpSignature as_it_is = signature_of(&op.op, all_parts);
    std::swap(op.op.src[0], op.op.src[1]);
    expect(!(signature_of(&op.op, all_parts) == as_it_is), "sources in another order");
    std::swap(op.op.src[0], op.op.src[1]);
    op.op.src[2] = op.op.src[0];
    expect(!(signature_of(&op.op, all_parts) == as_it_is), "one tensor for two that are alike");
    op.op.src[2] = nullptr;
    const OpSignature without = signature_of(&op.op, all_parts);
    op.op.src[3] = &op.tensors[3];
    expect(!(without == as_it_is) && !(signature_of(&op.op, all_parts) == without) && !(signature_of(&op.op, all_parts) == as_it_is),
           "a source that is not there, or elsewhere");
}

// Each name has a signature of its own, however long it is, and what stands behind its end has none.
void names() {
    Op op;
    char *name = op.tensors[1].name;
    constexpr size_t longest = sizeof op.tensors[1].name - 1;
    std::set<uint64_t> first;
    std::set<uint64_t> second;
    for (size_t length = 0; length <= longest; ++length) {
        for (const char letter : {'a', '\xff'}) {
            std::memset(name, 0, longest + 1);
            std::memset(name, letter, length);
            const OpSignature signature = signature_of(&op.op, all_parts);
            const bool is_new = first.insert(signature.first).second && second.insert(signature.second).second;
            expect(is_new || (length == 0 && letter != 'a'), "a name of " + std::to_string(length) + " bytes");
            std::memset(name + length + (length < longest ? 1 : 0), 'x', longest - length + (length < longest ? 0 : 1));
            expect(signature_of(&op.op, all_parts) == signature, "behind the end of a name of " + std::to_string(length));
        }
    }
}

// The records of the question have what the signature is made of.
void places_are_told() {
    Op op;
    op.op.view_offs = 1000;
    for (size_t i = 1; i < 4; ++i) op.tensors[i].view_offs = i == 3 ? 128 : 100 + i;
    for (const uint64_t bits : {UINT64_MAX, uint64_t{31}, uint64_t{0}}) {
        const uint64_t told[] = {0, 101 & bits, 102 & bits, 128 & bits};
        const auto records = op_records_of(&op.op, bits);
        expect(records.size() == op.tensors.size() && records[0].view_offs == 1000, "all of where the op itself lies");
        for (size_t i = 1; i < 4; ++i) expect(records[records[0].src[i - 1] - 1].view_offs == told[i], "a source's place");
    }
    ggml_tensor &blocks = op.tensors[1];
    blocks.type = GGML_TYPE_Q8_0; // of 34 bytes
    blocks.view_offs = 136;
    expect(told_offset(&blocks, 31) == 136 && told_offset(&blocks, 7) == 0, "all of where blocks begin, or nothing");
}

} // namespace

int main() {
    places_are_told();
    names();
    every_bit_that_is_told();
    nothing_else();
    which_is_which();
    return failures();
}
