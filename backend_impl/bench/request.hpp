// What is asked of the program: a line "NAME KEY=VALUE…".
#pragma once

#include <cstddef>
#include <map>
#include <stdexcept>
#include <string>

namespace apir::bench {

// A measurement that cannot be made; its text becomes the row's "error", and the program goes on.
struct Failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class Request {
  public:
    // Throws Failure for a word that is no KEY=VALUE.
    explicit Request(const std::string &line);

    const std::string &name() const { return name_; }
    // Throws Failure for a value that is no number from `least` up.
    size_t number(const std::string &key, size_t otherwise, size_t least = 1) const;
    std::string text(const std::string &key, const std::string &otherwise) const;

  private:
    std::string name_;
    std::map<std::string, std::string> values_;
};

} // namespace apir::bench
