// ggml tensors as the wire has them: the record of 304 bytes and the in-line op.
#pragma once

#include <optional>
#include <vector>

#include "abi/backend_interface.hpp"
#include "apir_gen.hpp"

namespace apir::guest {

// The buffer that a tensor's data lies in, when it is one of ours; nullptr for another or none. A view's is its source's.
ggml_backend_buffer_t own_buffer(const ggml_tensor *tensor);

// Whether the op is a function of the program's: its parameters are addresses here, which no host is told of, nor asked to call.
bool calls_program(const ggml_tensor *op);

// Whether shape and strides fit the 32 bits that protocol 0.2 has for them.
bool fits_record(const ggml_tensor *tensor);
// The same for an op with its sources and its view source.
bool op_fits_records(const ggml_tensor *op);

// The tensor's own part of a record (TensorRecord or WideTensorRecord): no id, no sources, no view source. Nothing when it
// does not fit, or when its data pointer lies outside its buffer.
template <typename Record> std::optional<Record> record_of(const ggml_tensor *tensor);

// An op with its sources for calls 6 and 15. No guest pointer leaves the guest: pointers are 0 or, where the other side
// reads them as "there is one", 1. Sources behind the first missing one are left out, as the wire has no place for them.
OpRecord op_record_of(const ggml_tensor *op);

// The same for calls 66 and 67: the op first, then its view source and its sources, each once, with ids from 1. Sources keep
// their places. Where those begin which are views is told as told_offset() has it.
std::vector<WideTensorRecord> op_records_of(const ggml_tensor *op, uint64_t offset_bits);

} // namespace apir::guest
