#include "host_library.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <sys/stat.h>

#include <call_log.hpp>

#include "../component_log.hpp"

namespace apir::virgl {
namespace {

constexpr const char *library_key = "apir.load_library.path";
constexpr const char *size_prefix = "apir.resource.size.";

// The C callbacks get a context id only, and a worker has one context.
HostWorld *the_world = nullptr;

const char *get_config(uint32_t context, const char *key) {
    if (the_world == nullptr || context != the_world->context || key == nullptr) return nullptr;
    if (std::strncmp(key, size_prefix, std::strlen(size_prefix)) == 0) {
        const MappedBlob *blob =
            the_world->blobs->find(static_cast<uint32_t>(std::strtoul(key + std::strlen(size_prefix), nullptr, 10)));
        return blob == nullptr ? nullptr : blob->size_text.c_str();
    }
    auto at = the_world->config.find(key);
    return at == the_world->config.end() ? nullptr : at->second.c_str();
}

void *get_shmem_ptr(uint32_t context, uint32_t resource) {
    if (the_world == nullptr || context != the_world->context || the_world->ending) return nullptr;
    const MappedBlob *blob = the_world->blobs->find(resource);
    return blob == nullptr ? nullptr : blob->data;
}

uint32_t code(LoadCode value) { return static_cast<uint32_t>(value); }

} // namespace

HostLibrary::HostLibrary(HostWorld &world) : world_(world), callbacks_{get_config, get_shmem_ptr} { the_world = &world; }

HostLibrary::~HostLibrary() {
    world_.ending = true;
    if (deinit_ != nullptr) deinit_(world_.context);
    if (library_ != nullptr) dlclose(library_);
    the_world = nullptr;
}

uint32_t HostLibrary::open(const std::string &path) {
    struct stat status{};
    if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) {
        log(Level::error, "cannot open the backend library '%s': %s", path.c_str(),
            errno != 0 ? std::strerror(errno) : "not a regular file");
        return code(LoadCode::cannot_open);
    }
    library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) {
        log(Level::error, "cannot open the backend library '%s': %s", path.c_str(), dlerror());
        return code(LoadCode::cannot_open);
    }
    return code(LoadCode::ok);
}

uint32_t HostLibrary::load() {
    const char *path = get_config(world_.context, library_key);
    if (path == nullptr) {
        log(Level::error, "cannot open the backend library: env var '%s' not defined", variable_of(library_key));
        return code(LoadCode::variable_missing);
    }
    if (library_ != nullptr) return code(LoadCode::already_loaded);
    errno = 0;
    if (uint32_t failure = open(path); failure != code(LoadCode::ok)) return failure;
    auto initialize = reinterpret_cast<HostInitialize>(dlsym(library_, "apir_backend_initialize"));
    auto dispatcher = reinterpret_cast<HostDispatcher>(dlsym(library_, "apir_backend_dispatcher"));
    if (initialize == nullptr || dispatcher == nullptr) {
        log(Level::error, "the backend library '%s' lacks apir_backend_%s", path,
            initialize == nullptr ? "initialize" : "dispatcher");
        dlclose(library_);
        library_ = nullptr;
        return code(LoadCode::symbol_missing);
    }
    deinit_ = reinterpret_cast<HostDeinit>(dlsym(library_, "apir_backend_deinit"));
    if (deinit_ == nullptr) log(Level::warn, "the backend library '%s' lacks apir_backend_deinit", path);
    // Kept after a failed initialisation too: calls then reach a library that answers them with an error.
    dispatcher_ = dispatcher;
    // Only ours has it: what all workers' libraries may log together. ggml says most while a device is opened.
    using ShareLog = void (*)(LogBudget::PaidUntil *paid_until_ns);
    auto share_log = reinterpret_cast<ShareLog>(dlsym(library_, "apir_backend_share_log"));
    if (share_log != nullptr && world_.log_paid_until_ns != nullptr) share_log(world_.log_paid_until_ns);
    uint32_t result = initialize(world_.context, &callbacks_);
    if (result == 0 || result == static_cast<uint32_t>(InitCode::success)) {
        log(Level::info, "context %u: loaded '%s'", world_.context, path);
        // Only ours has it: where to tell that a long call gets on.
        auto progress = reinterpret_cast<HostProgress>(dlsym(library_, "apir_backend_progress"));
        if (progress != nullptr) progress(world_.context, world_.beats);
        auto ending = reinterpret_cast<HostEnding>(dlsym(library_, "apir_backend_ending"));
        if (ending != nullptr && world_.closing != nullptr) ending(world_.context, world_.closing);
        using NoteOp = void (*)(uint32_t context, char *note, size_t size);
        auto note_op = reinterpret_cast<NoteOp>(dlsym(library_, "apir_backend_note_op"));
        if (note_op != nullptr && world_.last_op != nullptr) note_op(world_.context, world_.last_op, sizeof(CallLogHeader::last_op));
        return code(LoadCode::ok);
    }
    log(Level::error, "context %u: the backend library '%s' failed to initialise: %u", world_.context, path, result);
    return code(LoadCode::init_failed) + result;
}

uint32_t HostLibrary::call(uint32_t number, const uint8_t *request, size_t request_size, uint8_t *reply, size_t room,
                           size_t &reply_size) {
    // The library's interface takes a writable request; it lies in memory of ours alone.
    char *dec = const_cast<char *>(reinterpret_cast<const char *>(request));
    char *enc = reinterpret_cast<char *>(reply);
    char *after = enc;
    uint32_t result = dispatcher_(world_.context, &callbacks_, number, dec, dec + request_size, enc, enc + room, &after);
    reply_size = after < enc || after > enc + room ? 0 : static_cast<size_t>(after - enc);
    return result;
}

} // namespace apir::virgl
