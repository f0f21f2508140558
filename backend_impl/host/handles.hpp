// Opaque handles of what the host holds for a guest.
//
// A handle is a number that says its kind and is never given twice in a context: a stale, forged or mistyped one finds
// nothing. No handle is or contains an address.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>

namespace apir::host {

enum class HandleKind : uint64_t { buffer_type = 1, buffer = 2, graph = 3 };

template <typename Value, HandleKind kind> class HandleTable {
  public:
    // The new handle.
    uint64_t add(Value value) {
        uint64_t handle = (static_cast<uint64_t>(kind) << 56) | ++last_;
        values_.emplace(handle, std::move(value));
        return handle;
    }

    // What the handle stands for, or nullptr.
    Value *find(uint64_t handle) {
        auto at = values_.find(handle);
        return at == values_.end() ? nullptr : &at->second;
    }

    bool remove(uint64_t handle) { return values_.erase(handle) == 1; }
    void clear() { values_.clear(); }
    // Calls visit(handle, value) for all, in no order.
    template <typename Visit> void each(Visit visit) const {
        for (const auto &[handle, value] : values_) visit(handle, value);
    }
    size_t size() const { return values_.size(); }

  private:
    uint64_t last_ = 0;
    std::unordered_map<uint64_t, Value> values_;
};

} // namespace apir::host
