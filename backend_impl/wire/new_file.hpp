// Files that a process makes for itself, in a folder where others make theirs.
#pragma once

#include <string>

namespace apir {

// Opens FOLDER/NAME SUFFIX for writing (`flags` besides), a file that was not there: where one is, FOLDER/NAME-2 SUFFIX, and so on. Whoever has the
// same process number in another namespace (a container) keeps its file so, which it may have mapped. `path` becomes what was tried last. -1, with the
// cause in errno, when it cannot be.
int make_new_file(const std::string &folder, const std::string &name, const char *suffix, int flags, std::string &path);

} // namespace apir
