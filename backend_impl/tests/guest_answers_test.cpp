// What is known of an op without asking the host again: its answers by signature, its bytes.
#include <array>
#include <atomic>
#include <memory>
#include <thread>

#include <ggml.h>

#include "guest/answer_cache.hpp"
#include "guest/tensor_bytes.hpp"
#include "guest_fake.hpp"

using namespace apir::guest;
using namespace apir::guest::test;

namespace {

constexpr uint64_t odd = 0x9e3779b97f4a7c15;

OpSignature numbered(uint64_t number) { return {number * odd, ~number * odd}; }

void what_was_kept() {
    const auto answers = std::make_unique<QuickAnswers>();
    uint64_t answer = 7;
    expect(!answers->find({}, answer) && !answers->find(numbered(1), answer) && answer == 7, "nothing is found in a new table");
    for (const uint64_t kept : {uint64_t{0}, uint64_t{1}, ~uint64_t{0}}) {
        answers->keep({}, kept);
        expect(answers->find({}, answer) && answer == kept, "an answer of the signature of zeros");
        answers->keep(numbered(1), kept);
        expect(answers->find(numbered(1), answer) && answer == kept, "an answer");
    }
    const OpSignature other{numbered(1).first, numbered(1).second + 1};
    expect(!answers->find(other, answer), "half of a signature is none");
    answers->keep(other, 5);
    expect(answers->find(other, answer) && answer == 5 && !answers->find(numbered(1), answer), "the last one of a place");
}

// One thread that writes one place again and again, and others that read: whatever is found is an answer to what was asked.
void of_several_threads() {
    const auto answers = std::make_unique<QuickAnswers>();
    constexpr uint64_t keys = 4;
    const auto key = [](uint64_t number) { return OpSignature{number << 40, number * odd}; }; // all in one place
    std::atomic<bool> over{false};
    std::atomic<uint64_t> wrong{0};
    std::atomic<uint64_t> found{0};
    const auto work = [&](uint64_t own) {
        for (uint64_t round = 0; !over; ++round) {
            const uint64_t asked = round % keys;
            uint64_t answer = 0;
            if (own == 0) {
                answers->keep(key(asked), round * keys + asked);
            } else if (answers->find(key(asked), answer)) {
                ++found;
                if (answer % keys != asked) ++wrong;
            }
        }
    };
    std::array<std::thread, 3> threads;
    for (size_t i = 0; i < threads.size(); ++i) threads[i] = std::thread(work, i);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    over = true;
    for (std::thread &thread : threads) thread.join();
    expect(wrong == 0 && found != 0, std::to_string(found) + " found, " + std::to_string(wrong) + " of them wrong");
}

void the_first_answer_stands() {
    AnswerCache<uint64_t> cache;
    uint64_t answer = 0;
    expect(!cache.find(numbered(1), answer), "nothing is known at first");
    expect(cache.keep(numbered(1), 10) == 10 && cache.keep(numbered(1), 11) == 10, "the first answer stands");
    expect(cache.find(numbered(1), answer) && answer == 10, "and is found");
    constexpr uint64_t many = 3000; // more than the quick table has places
    for (uint64_t i = 2; i < many; ++i) cache.keep(numbered(i), i);
    uint64_t known = 0;
    for (uint64_t i = 2; i < many; ++i) known += cache.find(numbered(i), answer) && answer == i ? 1 : 0;
    expect(known == many - 2, std::to_string(known) + " of as many as were asked for lately");
    expect(cache.find(numbered(1), answer) && answer == 10, "where its place was taken, too");
}

// What is asked for again and again is known, however many others were asked for since it was new.
void what_is_asked_for_stays_known() {
    AnswerCache<uint64_t> cache;
    uint64_t answer = 0;
    cache.keep(numbered(0), 10);
    const auto elsewhere = [](uint64_t number) { return OpSignature{number * 2048 + 1 + number % 2000, number * odd}; };
    constexpr uint64_t many = 40000;
    for (uint64_t i = 1; i < many; ++i) {
        cache.keep(elsewhere(i), i);
        expect(cache.find(numbered(0), answer) && answer == 10, "an answer that is asked for between all others");
    }
    cache.keep({uint64_t{2048} << 20, 1}, 11); // in its place
    expect(cache.find(numbered(0), answer) && answer == 10, "when another one takes its place after all of them");
    expect(!cache.find(elsewhere(1), answer), "what nobody has asked for is forgotten");
}

void bytes_as_ggml_has_them() {
    size_t compared = 0;
    for (int type = 0; type < GGML_TYPE_COUNT; ++type) {
        const int64_t block = ggml_blck_size(static_cast<enum ggml_type>(type));
        if (block <= 0) continue;
        const std::array<std::array<int64_t, 4>, 6> shapes{{{1, 1, 1, 1}, {3, 5, 2, 7}, {0, 4, 1, 1}, {2, 0, 1, 1}, {2, 3, 1, 0}, {-1, 1, 1, 1}}};
        for (const auto &shape : shapes) {
            for (const size_t stretched : {size_t{1}, size_t{3}}) {
                ggml_tensor tensor{};
                tensor.type = static_cast<enum ggml_type>(type);
                // Single elements may lie apart, too, as in a transposed tensor.
                size_t stride = ggml_type_size(tensor.type) * (block == 1 ? stretched : 1);
                for (int d = 0; d < GGML_MAX_DIMS; ++d) {
                    tensor.ne[d] = d == 0 ? shape[0] * block : shape[static_cast<size_t>(d)];
                    tensor.nb[d] = stride;
                    stride *= (d == 0 ? static_cast<size_t>(std::max<int64_t>(shape[0], 1)) : static_cast<size_t>(std::max<int64_t>(tensor.ne[d], 1))) * stretched;
                }
                ++compared;
                expect(tensor_bytes(&tensor) == ggml_nbytes(&tensor), std::string("bytes of ") + ggml_type_name(tensor.type));
            }
        }
    }
    expect(compared > 300, "all types");
}

} // namespace

int main() {
    what_was_kept();
    of_several_threads();
    the_first_answer_stands();
    what_is_asked_for_stays_known();
    bytes_as_ggml_has_them();
    return failures();
}
