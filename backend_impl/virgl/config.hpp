// Configuration of a context: the documented keys, from the hypervisor or from the environment.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace apir::virgl {

using Config = std::map<std::string, std::string>;

// A variable as it is for contexts on a capset: VARIABLE_VENUS or VARIABLE_APIR where that is set, else VARIABLE; null where none is.
const char *variable_for(uint32_t capset, const char *variable);

// The keys of the environment's variables that are set, for contexts on that capset.
Config config_from_environment(uint32_t capset);

// The variable behind a key, for messages; empty for a key without one.
const char *variable_of(const std::string &key);

} // namespace apir::virgl
