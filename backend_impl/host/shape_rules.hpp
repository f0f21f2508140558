// Rules of op_shapes.cpp's table that have files of their own: volumes and what goes back from a convolution, and ops over sequences.
#pragma once

#include <ggml.h>

namespace apir::host {

// volume_shapes.cpp
bool im2col_back(const ggml_tensor &t);
bool im2col_3d(const ggml_tensor &t);
bool conv_3d(const ggml_tensor &t);
bool col2im_1d(const ggml_tensor &t);
bool pool_2d_back(const ggml_tensor &t);
bool window_part(const ggml_tensor &t);
bool window_unpart(const ggml_tensor &t);
bool get_relative_positions(const ggml_tensor &t);
bool add_relative_positions(const ggml_tensor &t);

// sequence_shapes.cpp
bool ssm_scan(const ggml_tensor &t);
bool rwkv_wkv6(const ggml_tensor &t);
bool rwkv_wkv7(const ggml_tensor &t);
bool gated_linear_attention(const ggml_tensor &t);
bool gated_delta_net(const ggml_tensor &t);
bool solve_triangular(const ggml_tensor &t);
bool lightning_indexer(const ggml_tensor &t);
bool hyper_connection_combine(const ggml_tensor &t);
bool hyper_connection_before(const ggml_tensor &t);
bool hyper_connection_after(const ggml_tensor &t);

} // namespace apir::host
