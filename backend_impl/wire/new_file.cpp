#include "new_file.hpp"

#include <cerrno>
#include <fcntl.h>

namespace apir {

int make_new_file(const std::string &folder, const std::string &name, const char *suffix, int flags, std::string &path) {
    constexpr int most = 10'000;
    int fd = -1;
    for (int number = 1; number <= most; ++number) {
        path = folder + "/" + name + (number == 1 ? "" : "-" + std::to_string(number)) + suffix;
        fd = open(path.c_str(), flags | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        if (fd >= 0 || errno != EEXIST) return fd;
    }
    return fd;
}

} // namespace apir
