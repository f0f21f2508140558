#include "op_seed.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>

namespace apir::fuzz {
namespace {

[[noreturn]] void give_up(const std::string &text) {
    std::cerr << text << '\n';
    std::exit(2);
}

template <typename Name> uint32_t named(const std::string &name, uint32_t count, Name name_of) {
    for (uint32_t i = 0; i < count; ++i)
        if (name_of(i) == name) return i;
    give_up("ggml has no '" + name + "'");
}

uint32_t op_named(const std::string &name) {
    return named(name, GGML_OP_COUNT, [](uint32_t op) { return std::string(ggml_op_name(static_cast<ggml_op>(op))); });
}

// Ops that only ggml 0.27 has.
bool has_gone(const std::string &line) {
    const std::string name = line.substr(0, line.find(' '));
    return APIR_GGML_GENERATION > 0 && (name == "ADD1" || name == "DIAG_MASK_INF" || name == "DIAG_MASK_ZERO");
}

uint32_t type_named(const std::string &name) {
    return named(name, GGML_TYPE_COUNT, [](uint32_t type) {
        const char *text = ggml_type_name(static_cast<ggml_type>(type));
        return std::string(text == nullptr ? "" : text);
    });
}

SeedTensor tensor_of(const std::string &word) {
    std::istringstream items(word);
    std::string item;
    std::getline(items, item, ',');
    SeedTensor tensor;
    tensor.type = type_named(item);
    for (int64_t &n : tensor.ne) std::getline(items, item, ','), n = std::stoll(item);
    for (uint64_t &n : tensor.nb) std::getline(items, item, ','), n = std::stoull(item);
    return tensor;
}

std::string family_of(const OpSeed &seed, const std::string &name) {
    if (seed.op == GGML_OP_UNARY) return ggml_unary_op_name(static_cast<ggml_unary_op>(seed.parameters[0]));
    if (seed.op == GGML_OP_GLU) return ggml_glu_op_name(static_cast<ggml_glu_op>(seed.parameters[0]));
    return name;
}

OpSeed seed_of(const std::string &line) {
    std::istringstream words(line);
    std::string name, parameters, word;
    words >> name >> parameters >> word;
    OpSeed seed;
    seed.op = op_named(name);
    std::istringstream items(parameters);
    std::string item;
    for (int32_t &value : seed.parameters)
        if (std::getline(items, item, ',')) value = static_cast<int32_t>(std::stoll(item));
    seed.result = tensor_of(word);
    while (words >> word) {
        seed.sources.emplace_back();
        if (word != "-") seed.sources.back() = tensor_of(word);
    }
    seed.family = family_of(seed, name);
    return seed;
}

} // namespace

uint64_t SeedTensor::bytes() const {
    auto kind = static_cast<ggml_type>(type);
    uint64_t row = static_cast<uint64_t>(ne[0]) / static_cast<uint64_t>(ggml_blck_size(kind));
    uint64_t size = row == 0 ? 0 : (row - 1) * nb[0] + ggml_type_size(kind);
    for (int i = 1; i < 4; ++i) size += ne[i] == 0 ? 0 : static_cast<uint64_t>(ne[i] - 1) * nb[i];
    return std::max(size, static_cast<uint64_t>(ne[1] * ne[2] * ne[3]) * row * ggml_type_size(kind));
}

uint64_t OpSeed::bytes() const {
    uint64_t sum = result.bytes();
    for (const auto &source : sources) sum += source ? source->bytes() : 0;
    return sum;
}

std::vector<OpSeed> read_op_seeds(const std::string &path) {
    std::ifstream file(path);
    if (!file) give_up("cannot read '" + path + "'");
    std::vector<OpSeed> seeds;
    for (std::string line; std::getline(file, line);)
        if (!line.empty() && !has_gone(line)) seeds.push_back(seed_of(line));
    if (seeds.empty()) give_up("'" + path + "' has no op");
    return seeds;
}

} // namespace apir::fuzz
