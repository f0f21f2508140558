// Configuration of a context: the documented keys, from the hypervisor or from the environment.
#pragma once

#include <map>
#include <string>

namespace apir::virgl {

using Config = std::map<std::string, std::string>;

// The keys of the environment's variables that are set.
Config config_from_environment();

// The variable behind a key, for messages; empty for a key without one.
const char *variable_of(const std::string &key);

} // namespace apir::virgl
