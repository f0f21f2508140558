#include "config.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "apir_gen.hpp"

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

std::optional<std::chrono::milliseconds> deadline(const char *name) {
    std::string value = text(name);
    if (value.empty()) return std::nullopt;
    char *end = nullptr;
    errno = 0;
    long number = std::strtol(value.c_str(), &end, 10);
    if (errno != 0 || *end != '\0' || number <= 0 || number > deadline_limit_ms) {
        log(LogLevel::warn, "%s is '%s'; it takes milliseconds from 1 to %ld", name, value.c_str(), deadline_limit_ms);
        return std::nullopt;
    }
    return std::chrono::milliseconds(number);
}

size_t mebibytes(const char *name, size_t otherwise) {
    constexpr unsigned long limit = 1UL << 20;
    std::string value = text(name);
    if (value.empty()) return otherwise;
    char *end = nullptr;
    errno = 0;
    unsigned long number = std::strtoul(value.c_str(), &end, 10);
    if (errno != 0 || *end != '\0' || value[0] == '-' || number > limit) {
        log(LogLevel::warn, "%s is '%s'; it takes MiB from 0 to %lu", name, value.c_str(), limit);
        return otherwise;
    }
    return size_t{number} << 20;
}

// 0 for a name that no extension has.
uint64_t extension_named(const std::string &name) {
    for (const NamedExtension &each : all_extensions)
        if (name == each.name) return static_cast<uint64_t>(each.extension);
    return 0;
}

// Names with commas between them; one with a minus takes the extension away, and of names with a minus only, from all.
uint64_t extensions(const char *name, uint64_t otherwise) {
    std::string value = text(name);
    if (value.empty() || value == "all") return otherwise;
    if (value == "none") return 0;
    uint64_t chosen = value[0] == '-' ? otherwise : 0;
    for (size_t at = 0; at <= value.size();) {
        size_t end = std::min(value.find(',', at), value.size());
        bool without = value[at] == '-';
        at += without ? 1 : 0;
        uint64_t bit = extension_named(value.substr(at, end - at));
        if (bit == 0) {
            std::string known = "all, none";
            for (const NamedExtension &each : all_extensions) known += std::string(", ") + each.name;
            log(LogLevel::warn, "%s is '%s'; known are %s, those with a minus too", name, value.c_str(), known.c_str());
            return otherwise;
        }
        chosen = without ? chosen & ~bit : chosen | bit;
        at = end + 1;
    }
    return chosen;
}

constexpr std::pair<const char *, LogLevel> log_levels[] = {
    {"error", LogLevel::error}, {"warn", LogLevel::warn}, {"info", LogLevel::info}, {"debug", LogLevel::debug}};
constexpr std::pair<const char *, bool> ring_choices[] = {{"auto", true}, {"off", false}};
constexpr std::pair<const char *, WriteBehindUse> write_behind_choices[] = {
    {"auto", WriteBehindUse::automatic}, {"on", WriteBehindUse::on}, {"off", WriteBehindUse::off}};
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
    config.call_deadline = deadline("GGML_VIRTGPU_CALL_DEADLINE_MS").value_or(config.call_deadline);
    config.graph_deadline = deadline("GGML_VIRTGPU_GRAPH_DEADLINE_MS");
    config.extensions = extensions("GGML_VIRTGPU_EXTENSIONS", config.extensions);
    config.ring = choice("GGML_VIRTGPU_RING", ring_choices, config.ring);
    config.write_behind = choice("GGML_VIRTGPU_WRITE_BEHIND", write_behind_choices, config.write_behind);
    config.buffer_pool_bytes = mebibytes("GGML_VIRTGPU_BUFFER_POOL_MIB", config.buffer_pool_bytes);
    return config;
}

} // namespace apir::guest
