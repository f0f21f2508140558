// Calls of the fake host library. Answers are text, up to a NUL, but for `pid`.
#pragma once

#include <cstdint>

enum class FakeCall : uint32_t { pid = 1000, echo, files, config, environment, limits, fill, hang, crash, leave, beat };
