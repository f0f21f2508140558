#include "cpu_variant.hpp"

#include <dlfcn.h>
#include <filesystem>

namespace apir::fuzz {
namespace {

int score_of(const std::string &path) {
    void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return 0;
    const auto score = reinterpret_cast<int (*)()>(dlsym(library, "ggml_backend_score"));
    const int told = score == nullptr ? 1 : score(); // a build that is the only one has none
    dlclose(library);
    return told;
}

} // namespace

std::string best_cpu_variant(const std::string &folder) {
    std::string best;
    int most = 0;
    for (const auto &entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().extension() != ".so" || entry.path().filename().string().rfind("libggml-cpu", 0) != 0) continue;
        const int score = score_of(entry.path());
        if (score <= most) continue;
        most = score;
        best = entry.path();
    }
    return best;
}

} // namespace apir::fuzz
