// From tensor ids to positions: an open-addressed table that is filled once per graph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace apir::host {

class IdIndex {
  public:
    static constexpr uint32_t none = UINT32_MAX;

    // The seed keeps a guest from choosing ids that collide.
    IdIndex() : seed_((static_cast<uint64_t>(std::random_device{}()) << 32) | std::random_device{}()) {}

    // Empties the table and makes room for `count` ids.
    void reset(size_t count) {
        size_t size = 16;
        while (size < count * 2) size *= 2;
        slots_.assign(size, Slot{});
    }

    // False when the id is there already or is 0.
    bool add(uint64_t id, uint32_t position) {
        if (id == 0) return false;
        Slot &slot = slots_[slot_of(id)];
        if (slot.id == id) return false;
        slot = {id, position};
        return true;
    }

    // Position of an id, or none.
    uint32_t find(uint64_t id) const {
        if (id == 0) return none;
        const Slot &slot = slots_[slot_of(id)];
        return slot.id == id ? slot.position : none;
    }

  private:
    struct Slot {
        uint64_t id = 0;
        uint32_t position = none;
    };

    // The id's slot, or the free one where it belongs. The table is at most half full, so there is one.
    size_t slot_of(uint64_t id) const {
        uint64_t hash = id ^ seed_;
        hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9u;
        hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebu;
        hash ^= hash >> 31;
        size_t at = hash & (slots_.size() - 1);
        while (slots_[at].id != 0 && slots_[at].id != id) at = (at + 1) & (slots_.size() - 1);
        return at;
    }

    uint64_t seed_;
    std::vector<Slot> slots_;
};

} // namespace apir::host
