// Answers of the host about ops, by signature.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include "forked.hpp"
#include "op_signature.hpp"

namespace apir::guest {

// A table that is read without a lock: programs that describe their graph for each token ask thousands of questions, and in an emulated machine a lock
// takes as long as all the rest of an answer. One thread at a time writes; any number of them may read meanwhile. What is kept of a signature is mixed with
// the answer, so nothing is found of what is half written: both halves of the signature and the answer have to fit together.
class QuickAnswers {
  public:
    struct Kept {
        OpSignature signature;
        uint64_t answer;
    };

    bool find(const OpSignature &signature, uint64_t &answer) const {
        const Place &place = places_[signature.first % places];
        const uint64_t found = place.answer.load(std::memory_order_relaxed);
        if (place.first.load(std::memory_order_relaxed) != (signature.first ^ mixed(found))) return false;
        if (place.second.load(std::memory_order_relaxed) != (signature.second ^ ~mixed(found))) return false;
        answer = found;
        return true;
    }

    // What had the place before, if anything had.
    std::optional<Kept> keep(const OpSignature &signature, uint64_t answer) {
        Place &place = places_[signature.first % places];
        const uint64_t answered = place.answer.load(std::memory_order_relaxed);
        const uint64_t first = place.first.load(std::memory_order_relaxed);
        const uint64_t second = place.second.load(std::memory_order_relaxed);
        place.answer.store(answer, std::memory_order_relaxed);
        place.first.store(signature.first ^ mixed(answer), std::memory_order_relaxed);
        place.second.store(signature.second ^ ~mixed(answer), std::memory_order_relaxed);
        if ((answered | first | second) == 0) return std::nullopt;
        return Kept{{first ^ mixed(answered), second ^ ~mixed(answered)}, answered};
    }

  private:
    struct alignas(32) Place {
        std::atomic<uint64_t> answer{0};
        std::atomic<uint64_t> first{0};
        std::atomic<uint64_t> second{0};
    };

    // One to one. In a new place there is one signature of 2^128 that would be found.
    static uint64_t mixed(uint64_t answer) { return (answer + 1) * 0x9e3779b97f4a7c15; }

    static constexpr size_t places = 2048; // 64 KiB
    std::array<Place, places> places_{};
};

// Bounded: a program that never repeats itself must not fill the memory. What was asked for lately is known until as many others were asked for since.
template <typename Answer> class AnswerCache {
  public:
    bool find(const OpSignature &signature, Answer &answer) {
        uint64_t quick = 0;
        if (quick_.find(signature, quick)) {
            answer = static_cast<Answer>(quick);
            return true;
        }
        if (in_forked_child()) return false; // its lock may be that of a thread which is not there
        std::lock_guard lock(mutex_);
        if (!look_up(recent_, signature, answer)) {
            if (!look_up(older_, signature, answer)) return false;
            remember(signature, answer);
        }
        keep_at_hand(signature, answer);
        return true;
    }

    // The answer that stands: this one, unless another thread's came first.
    Answer keep(const OpSignature &signature, Answer answer) {
        std::lock_guard lock(mutex_);
        const Answer stands = remember(signature, answer);
        keep_at_hand(signature, stands);
        return stands;
    }

  private:
    using Answers = std::unordered_map<OpSignature, Answer, OpSignatureHash>;

    static bool look_up(const Answers &answers, const OpSignature &signature, Answer &answer) {
        auto found = answers.find(signature);
        if (found == answers.end()) return false;
        answer = found->second;
        return true;
    }

    // What loses its place there was asked for since it was remembered, perhaps long after all others of that time.
    void keep_at_hand(const OpSignature &signature, Answer answer) {
        const std::optional<QuickAnswers::Kept> before = quick_.keep(signature, static_cast<uint64_t>(answer));
        if (before) remember(before->signature, static_cast<Answer>(before->answer));
    }

    Answer remember(const OpSignature &signature, Answer answer) {
        if (recent_.size() >= limit) older_ = std::exchange(recent_, {});
        return recent_.emplace(signature, answer).first->second;
    }

    static constexpr size_t limit = 4096;
    QuickAnswers quick_;
    std::mutex mutex_;
    Answers recent_;
    Answers older_;
};

} // namespace apir::guest
