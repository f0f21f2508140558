// Calls of the fake host library. Answers are text, up to a NUL, but for `pid`. `nap` takes its milliseconds, in decimal;
// `reach` tells what the worker can do to QEMU; `traced` has QEMU trace it, and stops; `stop_terminal`
// stops the output of its log's; `lie` takes "ring" or "head" and a number, writes that into the queue, and crashes, or hangs. `claim` takes a number of bytes, in decimal, and says that
// its answer has as many. `set_tensor` is the number of a call of the protocol, and takes a millisecond.
#pragma once

#include <cstdint>

enum class FakeCall : uint32_t { set_tensor = 17, pid = 1000, echo, files, config, environment, limits, fill, hang, crash, leave, beat, nap, reach, log_word, traced, stop_terminal, lie, claim };
