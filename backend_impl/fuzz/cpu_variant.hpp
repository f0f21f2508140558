// Which of ggml's builds for the CPU suits this processor best.
#pragma once

#include <string>

namespace apir::fuzz {

// The variant of a folder with the highest score of its own, as ggml's registry chooses; empty where none runs here.
std::string best_cpu_variant(const std::string &folder);

} // namespace apir::fuzz
