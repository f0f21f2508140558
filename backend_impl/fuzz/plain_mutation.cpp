#include <algorithm>
#include <cstring>

#include "random.hpp"
#include "target.hpp"

namespace apir::fuzz {

size_t mutate_plainly(uint8_t *data, size_t size, size_t most, unsigned int seed) {
    Random random(seed);
    for (uint64_t changes = 1 + random.below(4); changes > 0; --changes) {
        if (size == 0 || random.one_in(8)) {
            size_t more = std::min<size_t>(most - size, 4 * (1 + random.below(16)));
            for (size_t i = 0; i < more; ++i) data[size + i] = static_cast<uint8_t>(random.one_in(2) ? 0 : random.next());
            size += more;
            continue;
        }
        size_t at = random.below(size);
        uint64_t value = random.edge();
        size_t aligned = at / 4 * 4;
        switch (random.below(4)) {
        case 0: data[at] ^= static_cast<uint8_t>(1u << random.below(8)); break;
        case 1: std::memcpy(data + aligned, &value, std::min<size_t>(random.one_in(2) ? 4 : 8, size - aligned)); break;
        case 2: size = random.one_in(4) ? at : size; break;
        default: data[at] = static_cast<uint8_t>(random.below(8));
        }
    }
    return size;
}

} // namespace apir::fuzz
