// What kind of processor the program runs on.
#pragma once

namespace apir::guest {

// By the name that the processor gives itself; asks it.
bool names_itself_emulated();

// Whether it is one that QEMU emulates (TCG). Asked between two looks at a word: no call, which an emulator looks up each time.
inline bool is_emulated() {
    static const bool emulated = names_itself_emulated();
    return emulated;
}

} // namespace apir::guest
