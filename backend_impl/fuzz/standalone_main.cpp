// Runs a fuzz target where the compiler brings no libFuzzer: all files of a corpus, then mutations of them for some seconds.
//
//   TARGET CORPUS [SECONDS [SEED]]       a file instead of the folder is run alone, once
//
// An input that kills the target has been written to last-input.bin before, for a sanitizer ends the process where it stands.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "random.hpp"
#include "target.hpp"

namespace {

using Bytes = std::vector<uint8_t>;
constexpr size_t most = size_t{1} << 18;
constexpr const char *last_input = "last-input.bin";

Bytes content(const std::filesystem::path &path) {
    std::ifstream file(path, std::ios::binary);
    return Bytes(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

std::vector<Bytes> corpus(const std::filesystem::path &path) {
    std::vector<Bytes> all;
    std::vector<std::filesystem::path> paths;
    if (std::filesystem::is_directory(path))
        for (const auto &entry : std::filesystem::recursive_directory_iterator(path)) paths.push_back(entry.path());
    else paths.push_back(path);
    std::sort(paths.begin(), paths.end());
    for (const auto &each : paths)
        if (std::filesystem::is_regular_file(each)) all.push_back(content(each));
    return all;
}

void run(const Bytes &input) {
    {
        std::ofstream file(last_input, std::ios::binary | std::ios::trunc);
        file.write(reinterpret_cast<const char *>(input.data()), static_cast<std::streamsize>(input.size()));
    }
    LLVMFuzzerTestOneInput(input.data(), input.size());
}

} // namespace

int main(int count, char **values) {
    if (count < 2) return std::fprintf(stderr, "usage: %s CORPUS [SECONDS [SEED]]\n", values[0]), 2;
    if (LLVMFuzzerInitialize != nullptr) LLVMFuzzerInitialize(&count, &values);
    std::vector<Bytes> inputs = corpus(values[1]);
    double seconds = count > 2 ? std::atof(values[2]) : 0;
    apir::fuzz::Random random(count > 3 ? std::strtoull(values[3], nullptr, 10) : 1);
    for (const Bytes &input : inputs) run(input);
    size_t runs = inputs.size();
    if (inputs.empty()) inputs.emplace_back();
    auto start = std::chrono::steady_clock::now();
    for (; std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < seconds; ++runs) {
        Bytes input = random.pick(inputs);
        size_t size = std::min(input.size(), most);
        input.resize(most);
        input.resize(LLVMFuzzerCustomMutator(input.data(), size, most, static_cast<unsigned int>(random.next())));
        run(input);
        // Changes of changes; as many as there are files stay as they came.
        if (random.one_in(4) && inputs.size() < 4096) inputs.push_back(std::move(input));
    }
    std::filesystem::remove(last_input);
    std::printf("%zu inputs, none of them did harm\n", runs);
    return 0;
}
