// One line of JSON on standard output: what a measurement gave.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "clock.hpp"

namespace apir::bench {

class Row {
  public:
    Row &text(const char *key, const std::string &value);
    Row &number(const char *key, uint64_t value);
    Row &numbers(const char *key, const std::vector<uint64_t> &values);
    // `ns`, `begin_ns` and `end_ns`, and as `rounds` how many calls all of it made, warm ones included.
    Row &samples(const Timed &timed);

    std::string line() const { return '{' + line_ + '}'; }
    void print() const;

  private:
    Row &key(const char *name);

    std::string line_;
};

} // namespace apir::bench
