#include "request.hpp"

#include <cerrno>
#include <cstdlib>
#include <sstream>

namespace apir::bench {

Request::Request(const std::string &line) {
    std::istringstream words(line);
    words >> name_;
    for (std::string word; words >> word;) {
        size_t equals = word.find('=');
        if (equals == std::string::npos) throw Failure("no KEY=VALUE: " + word);
        values_[word.substr(0, equals)] = word.substr(equals + 1);
    }
}

size_t Request::number(const std::string &key, size_t otherwise, size_t least) const {
    auto found = values_.find(key);
    if (found == values_.end()) return otherwise;
    char *end = nullptr;
    errno = 0;
    unsigned long long value = std::strtoull(found->second.c_str(), &end, 10);
    if (errno != 0 || end == found->second.c_str() || *end != '\0' || value < least)
        throw Failure(key + " is '" + found->second + "', which is no number from " + std::to_string(least) + " up");
    return static_cast<size_t>(value);
}

std::string Request::text(const std::string &key, const std::string &otherwise) const {
    auto found = values_.find(key);
    return found == values_.end() ? otherwise : found->second;
}

} // namespace apir::bench
