// Choices of the mutation driver and of the fuzz targets: a small generator that gives the same ones for the same seed everywhere.
#pragma once

#include <cstddef>
#include <cstdint>

namespace apir::fuzz {

class Random {
  public:
    explicit Random(uint64_t seed) : state_(seed) {}

    uint64_t next() {
        uint64_t mixed = state_ += 0x9e3779b97f4a7c15u;
        mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
        mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
        return mixed ^ (mixed >> 31);
    }
    // From 0 to `limit` - 1; 0 for a limit of 0.
    uint64_t below(uint64_t limit) { return limit == 0 ? 0 : next() % limit; }
    bool one_in(uint64_t chances) { return below(chances) == 0; }
    template <typename List> auto &pick(List &list) { return list[below(list.size())]; }

    // A number at which counting goes wrong: powers of two, their neighbours, and the ends of the types.
    uint64_t edge() {
        uint64_t power = uint64_t{1} << below(64);
        switch (below(7)) {
        case 0: return 0;
        case 1: return power - 1;
        case 2: return power + 1;
        case 3: return ~uint64_t{0} - below(64);
        case 4: return uint64_t{1} << 31;
        case 5: return below(300);
        default: return power;
        }
    }

    // A number near another one, or one that has nothing to do with it.
    template <typename Number> Number near(Number value) {
        auto wide = static_cast<uint64_t>(value);
        switch (below(8)) {
        case 0: return static_cast<Number>(wide + 1);
        case 1: return static_cast<Number>(wide - 1);
        case 2: return static_cast<Number>(wide * 2);
        case 3: return static_cast<Number>(wide / 2);
        case 4: return static_cast<Number>(wide ^ (uint64_t{1} << below(8 * sizeof(Number))));
        case 5: return static_cast<Number>(~wide + 1);
        case 6: return static_cast<Number>(below(17));
        default: return static_cast<Number>(edge());
        }
    }

  private:
    uint64_t state_;
};

} // namespace apir::fuzz
