// The measurements. Each fills a row; all durations are nanoseconds. Throw Failure where something cannot be measured, or a
// call was not carried out: of those that say nothing of it, that is told by what the last one left.
#pragma once

#include "request.hpp"
#include "row.hpp"
#include "subject.hpp"

namespace apir::bench {

// Calls of one kind, one after the other: `ns` of each of `rounds`, after `warm` that are not counted. With `together`, of set and get, each of
// both is so many calls, and `ns` one of them's share.
void empty_call(Subject &subject, const Request &request, Row &row);  // the device's memory, asked
void clear_call(Subject &subject, const Request &request, Row &row);  // a small buffer cleared
void set(Subject &subject, const Request &request, Row &row);         // `size` bytes to a tensor; `sent`=1: and an empty call, along
                                                                      // with which a small write goes that was left to be sent
void get(Subject &subject, const Request &request, Row &row);         // `size` bytes from a tensor
void alloc_free(Subject &subject, const Request &request, Row &row);  // a buffer of `size` bytes
void graph(Subject &subject, const Request &request, Row &row);       // the same graph of `nodes` small sums
void after_pause(Subject &subject, const Request &request, Row &row); // an empty call after `pause_ms` without any

// `threads` that make empty calls for `ms`: `calls` of each and the `ns` that all took. With `work_us` each works, without a system call, for so
// long between two of them: `longest_ns` is the longest call of each.
void threads(Subject &subject, const Request &request, Row &row);
// Processor time of this process in `ms` without a call: `cpu_ns`.
void idle(Subject &subject, const Request &request, Row &row);
// `rounds` tokens of a model-like graph; `rebuild`=1: described and allocated anew for each.
void token(Subject &subject, const Request &request, Row &row);

} // namespace apir::bench
