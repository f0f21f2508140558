// Results made wrong where they lie.
#pragma once

#include "lies.hpp"

namespace apir::liar {

// Changes the result as a lie of kind flip or wrong says.
void spoil(ggml_tensor &result, const Lie &lie);

} // namespace apir::liar
