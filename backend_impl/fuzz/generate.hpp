// Messages of a hostile guest, one for each number: what they are is decided by the seed and the number alone.
#pragma once

#include <string>
#include <vector>

#include "host_world.hpp"
#include "op_seed.hpp"
#include "random.hpp"

namespace apir::fuzz {

class Generator {
  public:
    // `family`: only graphs with that op or sub-operation; empty: all that a guest can send. `recorded` are messages to be mutated as well.
    // `strides`: only graphs of one op, of which one tensor has other strides.
    Generator(std::vector<OpSeed> seeds, std::vector<Message> recorded, const std::string &family, uint64_t seed, bool strides = false);

    Message message(uint64_t number, const Handles &handles) const;

  private:
    Message graph_message(Random &random, const Handles &handles) const;
    Message strided_message(Random &random, const Handles &handles) const;
    const OpSeed &op_seed(Random &random) const;

    std::vector<OpSeed> seeds_;
    std::vector<std::vector<size_t>> families_; // indices of seeds_
    std::vector<Message> recorded_;
    bool only_graphs_;
    bool only_strides_;
    uint64_t seed_;
};

// Another message that is like it; what libFuzzer's own mutations, which know no records, do not find.
void mutate_message(Message &message, const Handles &handles, Random &random);

} // namespace apir::fuzz
