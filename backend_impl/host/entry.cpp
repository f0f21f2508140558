// The host library's C ABI, and the only file with extern "C" functions. Nothing is thrown out of it.
#include <cinttypes>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "session.hpp"

namespace apir::host {
namespace {

// The sessions of this process by context id: what the C ABI, which passes ids, leaves to the library.
struct Sessions {
    // A process that exits without deinit: by then drivers may be gone that a backend would call into.
    ~Sessions() {
        for (auto &entry : by_context) new std::shared_ptr<Session>(std::move(entry.second));
    }

    std::mutex mutex;
    std::unordered_map<uint32_t, std::shared_ptr<Session>> by_context;
};

Sessions &sessions() {
    static Sessions instance;
    return instance;
}

std::shared_ptr<Session> find(uint32_t context) {
    Sessions &all = sessions();
    std::lock_guard lock(all.mutex);
    auto at = all.by_context.find(context);
    return at == all.by_context.end() ? nullptr : at->second;
}

InitCode failed(InitCode code, const char *text) {
    log(Level::error, "ggml-virtgpu-backend: apir_backend_initialize: %s", text);
    return code;
}

InitCode initialize(uint32_t context, const apir_callbacks *callbacks) {
    if (callbacks == nullptr || callbacks->get_config == nullptr || callbacks->get_shmem_ptr == nullptr)
        return failed(InitCode::backend_failed, "the component gives no callbacks");
    if (find(context) != nullptr) return failed(InitCode::already_initialised, "this context is initialised already");
    // Held here too, so that the reason of a failure still reaches the log. Our component, which empties the file itself, says to all contexts that they append:
    // with one process per context each would truncate it.
    LogHold hold(callbacks->get_config(context, "apir.log.append") != nullptr);
    try {
        auto session = std::make_shared<Session>(context, *callbacks);
        Sessions &all = sessions();
        std::lock_guard lock(all.mutex);
        bool added = all.by_context.emplace(context, std::move(session)).second;
        return added ? InitCode::success : failed(InitCode::already_initialised, "this context is initialised already");
    } catch (const InitFailure &failure) {
        return failed(failure.code, failure.text.c_str());
    } catch (const std::exception &failure) {
        return failed(InitCode::backend_failed, failure.what());
    }
}

DispatchCode dispatch(uint32_t context, const apir_callbacks *callbacks, uint32_t call, Reader &request, Writer &reply) {
    std::shared_ptr<Session> session = find(context);
    if (session == nullptr || callbacks == nullptr) return DispatchCode::failed;
    return session->dispatch(*callbacks, call, request, reply);
}

} // namespace
} // namespace apir::host

#define APIR_EXPORT __attribute__((visibility("default")))

extern "C" {

APIR_EXPORT uint32_t apir_backend_initialize(uint32_t context, apir_callbacks *callbacks) {
    try {
        return static_cast<uint32_t>(apir::host::initialize(context, callbacks));
    } catch (...) {
        return static_cast<uint32_t>(apir::InitCode::backend_failed);
    }
}

// Beyond the documented interface: where our worker wants to see that a long call gets on. Called once, when the
// context is initialised; other components do not know it.
APIR_EXPORT void apir_backend_progress(uint32_t context, std::atomic<uint64_t> *beats) {
    if (std::shared_ptr<apir::host::Session> session = apir::host::find(context)) session->beat(beats);
}

// Beyond the documented interface, as that one: where our worker tells, by any number but 0, that the context is to end. A call that waits
// for the guest ends then. Only a component that serves this one context may call it, for others would have to wait as well.
APIR_EXPORT void apir_backend_ending(uint32_t context, const std::atomic<uint32_t> *ending) {
    if (std::shared_ptr<apir::host::Session> session = apir::host::find(context)) session->end_with(ending);
}

// Beyond the documented interface, as that one: where our worker wants the name of the op that a graph ends with, written before
// the graph is computed, so that it can be told what a killed or hanging one was about. It outlives the context.
APIR_EXPORT void apir_backend_note_op(uint32_t context, char *note, size_t size) {
    if (std::shared_ptr<apir::host::Session> session = apir::host::find(context)) session->note_ops_at(note, size);
}

// Beyond the documented interface: how our worker lets what all workers of a QEMU log count together (log_budget.hpp). Called before a
// context is initialised; the word outlives the process's use of this library.
APIR_EXPORT void apir_backend_share_log(apir::LogBudget::PaidUntil *paid_until_ns) {
    if (paid_until_ns != nullptr) apir::host::share_log(paid_until_ns);
}

// Beyond the documented interface: ends the graph that another thread computes for the context, after the node it is at; that call is
// answered "aborted". Calls to come are carried out.
APIR_EXPORT void apir_backend_cancel(uint32_t context) {
    if (std::shared_ptr<apir::host::Session> session = apir::host::find(context)) session->cancel();
}

APIR_EXPORT void apir_backend_deinit(uint32_t context) {
    try {
        std::shared_ptr<apir::host::Session> session;
        apir::host::Sessions &all = apir::host::sessions();
        std::lock_guard lock(all.mutex);
        auto at = all.by_context.find(context);
        if (at == all.by_context.end()) return;
        session = std::move(at->second);
        all.by_context.erase(at);
    } catch (...) {
        // Nothing can be told to a component that is ending the context.
    }
}

APIR_EXPORT uint32_t apir_backend_dispatcher(uint32_t context, apir_callbacks *callbacks, uint32_t call, char *dec,
                                             const char *dec_end, char *enc, const char *enc_end, char **enc_after) {
    auto code = apir::DispatchCode::failed;
    size_t written = 0;
    try {
        size_t request_size = dec == nullptr || dec_end < dec ? 0 : static_cast<size_t>(dec_end - dec);
        size_t reply_size = enc == nullptr || enc_end < enc ? 0 : static_cast<size_t>(enc_end - enc);
        apir::Reader request(dec, request_size);
        apir::Writer reply(enc, reply_size);
        code = apir::host::dispatch(context, callbacks, call, request, reply);
        if (code == apir::DispatchCode::ok) written = reply.size();
#if defined(APIR_PLANT_LOST_REPLY)
        static int replies = 0;
        if (++replies % 1000 == 0) written = 0;
#elif defined(APIR_PLANT_QUIET_END)
        static int calls = 0;
        if (++calls == 1000) std::exit(0);
#endif
    } catch (...) {
        code = apir::DispatchCode::failed;
    }
    // On errors too: the component must never be left with a pointer of its own stack.
    if (enc_after != nullptr) *enc_after = enc == nullptr ? nullptr : enc + written;
    return static_cast<uint32_t>(code);
}
}
