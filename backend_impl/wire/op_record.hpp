// The in-line form of an op, as calls 6 and 15 carry it.
//
// Hand-written, because what follows depends on what went before: the raw tensor; if its `buffer` is not 0, eight bytes
// of handle (meaningless from today's peer: read over them); if its `view_src` is not 0, the raw view source; then the raw
// sources up to the first 0. Pointers in these records are the guest's and serve only as "there is one".
// Included by apir_gen.hpp, behind RawTensor.
#pragma once

namespace apir {

struct OpRecord {
    RawTensor tensor;
    uint64_t handle = 0;
    RawTensor view_src;
    RawTensor src[max_sources];

    // Sources up to the first missing one.
    size_t source_count() const {
        size_t count = 0;
        while (count < max_sources && tensor.src[count] != 0) ++count;
        return count;
    }
};

inline void write(Writer &writer, const OpRecord &op) {
    write(writer, op.tensor);
    if (op.tensor.buffer != 0) writer.u64(op.handle);
    if (op.tensor.view_src != 0) write(writer, op.view_src);
    for (size_t i = 0; i < op.source_count(); ++i) write(writer, op.src[i]);
}

inline bool read(Reader &reader, OpRecord &op) {
    op = OpRecord{};
    read(reader, op.tensor);
    if (op.tensor.buffer != 0) op.handle = reader.u64();
    if (op.tensor.view_src != 0) read(reader, op.view_src);
    for (size_t i = 0; i < op.source_count(); ++i) read(reader, op.src[i]);
    return !reader.failed();
}

} // namespace apir
