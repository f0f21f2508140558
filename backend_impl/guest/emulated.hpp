// What kind of processor the program runs on.
#pragma once

namespace apir::guest {

// Whether it is one that QEMU emulates (TCG), by the name it gives itself.
bool is_emulated();

} // namespace apir::guest
