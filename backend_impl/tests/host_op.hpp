// An op with its sources, by their shapes, as the records that a guest sends.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include <apir_gen.hpp>
#include <ggml.h>

namespace apir::test {

struct Shape {
    int64_t ne[4];
    uint32_t type = GGML_TYPE_F32;
    std::vector<uint64_t> nb = {}; // from the second on; packed where it has none
};

struct Op {
    const char *name;
    ggml_op op;
    Shape result;
    std::vector<Shape> sources;
    std::vector<int32_t> parameters;
};

struct Block {
    int64_t elements;
    uint64_t bytes;
};

inline Block block_of(uint32_t type) {
    switch (type) {
    case GGML_TYPE_Q8_0: return {32, 34};
    case GGML_TYPE_Q8_1: return {32, 36};
    case GGML_TYPE_Q8_K: return {256, 292};
    case GGML_TYPE_F16:
    case GGML_TYPE_BF16: return {1, 2};
    case GGML_TYPE_I64: return {1, 8};
    default: return {1, 4};
    }
}

inline WideTensorRecord record_of(const Shape &shape, uint64_t id) {
    WideTensorRecord record;
    record.id = id;
    record.type = shape.type;
    Block block = block_of(shape.type);
    record.nb[0] = block.bytes;
    uint64_t stride = block.bytes * static_cast<uint64_t>(shape.ne[0] / block.elements);
    for (size_t i = 0; i < 4; ++i) {
        record.ne[i] = shape.ne[i];
        if (i == 0) continue;
        record.nb[i] = i <= shape.nb.size() ? shape.nb[i - 1] : stride;
        stride *= static_cast<uint64_t>(shape.ne[i]);
    }
    return record;
}

// The result, which names its sources, and these.
inline std::vector<WideTensorRecord> records_of(const Op &op) {
    std::vector<WideTensorRecord> records{record_of(op.result, 1)};
    records[0].op = op.op;
    if (!op.parameters.empty()) std::memcpy(records[0].op_params, op.parameters.data(), op.parameters.size() * sizeof(int32_t));
    for (size_t i = 0; i < op.sources.size(); ++i) {
        records[0].src[i] = i + 2;
        records.push_back(record_of(op.sources[i], i + 2));
    }
    return records;
}

inline uint64_t reach_of(const WideTensorRecord &record) {
    uint64_t packed = record.nb[0], strided = record.nb[0];
    for (int i = 0; i < 4; ++i) {
        int64_t steps = i == 0 ? record.ne[0] / block_of(record.type).elements : record.ne[i];
        packed *= static_cast<uint64_t>(steps);
        strided += static_cast<uint64_t>(steps - 1) * record.nb[i];
    }
    return std::max(packed, strided);
}

inline std::string text_of(const Op &op) {
    std::string text = op.name;
    std::vector<Shape> shapes = op.sources;
    shapes.insert(shapes.begin(), op.result);
    for (const Shape &shape : shapes) {
        text += " [" + std::to_string(shape.ne[0]);
        for (int i = 1; i < 4; ++i) text += "," + std::to_string(shape.ne[i]);
        for (uint64_t stride : shape.nb) text += " +" + std::to_string(stride);
        text += "]";
    }
    return text;
}

} // namespace apir::test
