#include "config.hpp"

#include <cerrno>
#include <cstdlib>
#include <utility>

namespace apir::guest {

namespace {

constexpr long deadline_limit_ms = 24L * 3600 * 1000;

std::string text(const char *name) {
    const char *value = std::getenv(name);
    return value == nullptr ? std::string() : std::string(value);
}

template <typename T, size_t N>
T choice(const char *name, const std::pair<const char *, T> (&choices)[N], T otherwise) {
    std::string value = text(name);
    if (value.empty()) return otherwise;
    std::string known;
    for (const auto &[word, meaning] : choices) {
        if (value == word) return meaning;
        known += known.empty() ? word : std::string(", ") + word;
    }
    log(LogLevel::warn, "%s is '%s'; known are %s", name, value.c_str(), known.c_str());
    return otherwise;
}

std::chrono::milliseconds deadline(const char *name, std::chrono::milliseconds otherwise) {
    std::string value = text(name);
    if (value.empty()) return otherwise;
    char *end = nullptr;
    errno = 0;
    long number = std::strtol(value.c_str(), &end, 10);
    if (errno != 0 || *end != '\0' || number <= 0 || number > deadline_limit_ms) {
        log(LogLevel::warn, "%s is '%s'; it takes milliseconds from 1 to %ld", name, value.c_str(), deadline_limit_ms);
        return otherwise;
    }
    return std::chrono::milliseconds(number);
}

constexpr std::pair<const char *, LogLevel> log_levels[] = {
    {"error", LogLevel::error}, {"warn", LogLevel::warn}, {"info", LogLevel::info}, {"debug", LogLevel::debug}};
constexpr std::pair<const char *, DataPath> data_paths[] = {
    {"auto", DataPath::automatic}, {"shared", DataPath::shared}, {"copied", DataPath::copied}};

} // namespace

Config read_config() {
    Config config;
    config.log_level = choice("GGML_VIRTGPU_LOG", log_levels, config.log_level);
    config.use_apir_capset = std::getenv("GGML_REMOTING_USE_APIR_CAPSET") != nullptr;
    config.render_node = text("GGML_VIRTGPU_RENDER_NODE");
    config.call_log_folder = text("GGML_VIRTGPU_CALL_LOG");
    config.data_path = choice("GGML_VIRTGPU_DATA_PATH", data_paths, config.data_path);
    config.call_deadline = deadline("GGML_VIRTGPU_CALL_DEADLINE_MS", config.call_deadline);
    config.graph_deadline = deadline("GGML_VIRTGPU_GRAPH_DEADLINE_MS", config.graph_deadline);
    return config;
}

} // namespace apir::guest
