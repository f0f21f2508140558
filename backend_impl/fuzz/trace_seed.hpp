// Recorded conversations (tests/data/traces) as messages for a world of ours.
#pragma once

#include <string>
#include <vector>

#include "host_world.hpp"

namespace apir::fuzz {

// The Forward calls of all *.jsonl of a folder. Handles and resources of the recording are replaced by the world's: a peer's were
// addresses. Empty when there is no such folder.
std::vector<Message> recorded_messages(const std::string &folder, const Handles &handles);

} // namespace apir::fuzz
