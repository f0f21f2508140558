#include "lies.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sstream>
#include <unistd.h>

namespace apir::liar {
namespace {

constexpr const char *variable = "GGML_LIAR";

struct Form {
    const char *word;
    Kind kind;
    const char *amount; // the key that has to be there; null: none
    bool element;
    bool result; // about results, so that they can be counted
};
constexpr Form forms[] = {
    {"flip", Kind::flip, "bit", true, true},      {"wrong", Kind::wrong, nullptr, true, true},
    {"stale", Kind::stale, nullptr, false, true}, {"fail", Kind::fail, nullptr, false, true},
    {"deny", Kind::deny, nullptr, false, false},  {"claim", Kind::claim, nullptr, false, false},
    {"slow", Kind::slow, "ms", false, true},      {"hang", Kind::hang, nullptr, false, true},
    {"crash", Kind::crash, nullptr, false, true}, {"leak", Kind::leak, "bytes", false, true},
};

std::string trimmed(const std::string &text) {
    size_t first = text.find_first_not_of(" \t\r");
    return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::vector<std::string> split(const std::string &text, const char *separators) {
    std::vector<std::string> parts;
    for (size_t start = 0; start <= text.size();) {
        size_t end = std::min(text.find_first_of(separators, start), text.size());
        parts.push_back(trimmed(text.substr(start, end - start)));
        start = end + 1;
    }
    return parts;
}

[[noreturn]] void refuse(const std::string &lie, const std::string &why) {
    throw Malformed(std::string(variable) + ": '" + lie + "': " + why);
}

const Form &form_of(const std::string &word, const std::string &lie) {
    std::string known;
    for (const Form &form : forms) {
        if (word == form.word) return form;
        known += std::string(known.empty() ? "" : ", ") + form.word;
    }
    refuse(lie, "there is no lie '" + word + "'; there are " + known + ", and honest for none");
}

uint64_t number(const std::string &lie, const std::string &key, const std::string &value) {
    char *end = nullptr;
    errno = 0;
    unsigned long long read = std::strtoull(value.c_str(), &end, 10);
    if (value.empty() || value[0] < '0' || value[0] > '9' || *end != '\0' || errno != 0)
        refuse(lie, key + " is '" + value + "', which is no number");
    return read;
}

// As ggml_op_desc has it: no tensor is of op UNARY or GLU there, but of one of theirs.
bool is_op(const std::string &name) {
    auto among = [&](int count, auto name_of) {
        for (int i = 0; i < count; ++i)
            if (name == name_of(i)) return true;
        return false;
    };
    if (name == ggml_op_name(GGML_OP_UNARY) || name == ggml_op_name(GGML_OP_GLU)) return false;
    return among(GGML_OP_COUNT, [](int op) { return ggml_op_name(static_cast<ggml_op>(op)); }) ||
           among(GGML_UNARY_OP_COUNT, [](int op) { return ggml_unary_op_name(static_cast<ggml_unary_op>(op)); }) ||
           among(GGML_GLU_OP_COUNT, [](int op) { return ggml_glu_op_name(static_cast<ggml_glu_op>(op)); });
}

std::string marker(const std::string &lie, const std::string &path) {
    size_t slash = path.rfind('/');
    if (path.empty() || path[0] != '/') refuse(lie, "once has to be an absolute path");
    std::string folder = slash == 0 ? "/" : path.substr(0, slash);
    if (access(folder.c_str(), W_OK) != 0) refuse(lie, "once: nothing can be written in " + folder + ": " + std::strerror(errno));
    return path;
}

void set_key(Lie &lie, const Form &form, const std::string &key, const std::string &value) {
    if (key == "op") {
        if (!is_op(value)) refuse(lie.text, "ggml has no op '" + value + "'");
        lie.op = value;
    } else if (form.result && key == "nth") {
        lie.nth = number(lie.text, key, value);
        if (lie.nth == 0) refuse(lie.text, "nth counts from 1");
    } else if (form.result && key == "once") {
        lie.once = marker(lie.text, value);
    } else if (form.element && key == "element") {
        lie.element = value == "last" ? last_element : number(lie.text, key, value);
    } else if (form.amount != nullptr && key == form.amount) {
        lie.amount = number(lie.text, key, value);
    } else {
        refuse(lie.text, std::string(form.word) + " has no key '" + key + "'");
    }
}

Lie parsed_lie(const std::string &text) {
    size_t colon = text.find(':');
    const std::string word = trimmed(text.substr(0, colon));
    const Form &form = form_of(word, text);
    Lie lie{text, form.kind, {}, 0, 0, {}, {}};
    std::vector<std::string> keys;
    for (const std::string &pair : colon == std::string::npos ? std::vector<std::string>{} : split(text.substr(colon + 1), ",")) {
        size_t equals = pair.find('=');
        if (equals == std::string::npos) refuse(text, "'" + pair + "' is no key=value");
        std::string key = trimmed(pair.substr(0, equals));
        if (std::find(keys.begin(), keys.end(), key) != keys.end()) refuse(text, key + " stands twice");
        keys.push_back(key);
        set_key(lie, form, key, trimmed(pair.substr(equals + 1)));
    }
    if (form.amount != nullptr && std::find(keys.begin(), keys.end(), form.amount) == keys.end())
        refuse(text, std::string("it needs ") + form.amount + "=N");
    return lie;
}

// Whether the marker was not there; it is now.
bool first_time(const std::string &path) {
    int file = open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
    if (file < 0) return false;
    close(file);
    return true;
}

} // namespace

std::vector<Lie> parsed(const std::string &text) {
    std::vector<Lie> lies;
    bool honest = false;
    for (const std::string &line : split(text, "\n")) {
        for (const std::string &part : split(line.substr(0, line.find('#')), ";")) {
            if (part == "honest") honest = true;
            else if (!part.empty()) lies.push_back(parsed_lie(part));
        }
    }
    if (honest && !lies.empty()) refuse(text, "honest stands alone");
    if (!honest && lies.empty()) throw Malformed(std::string(variable) + " tells no lie: it has to be 'honest' or lies");
    return lies;
}

std::vector<Lie> configured() {
    const char *value = std::getenv(variable);
    if (value == nullptr) throw Malformed(std::string(variable) + " is not set: it has to be 'honest', lies, or @ and their file");
    if (value[0] != '@') return parsed(value);
    std::ifstream file(value + 1);
    std::ostringstream text;
    if (!file || !(text << file.rdbuf())) throw Malformed(std::string(variable) + ": the file " + (value + 1) + " cannot be read, or is empty");
    return parsed(text.str());
}

Liar::Liar(std::vector<Lie> lies)
    : lies_(std::move(lies)), seen_(new std::atomic<uint64_t>[lies_.size()]()), noted_(new std::atomic<bool>[lies_.size()]()) {}

std::vector<const Lie *> Liar::due(const ggml_tensor &result) {
    std::vector<const Lie *> told;
    for (size_t i = 0; i < lies_.size(); ++i) {
        const Lie &lie = lies_[i];
        if (lie.kind == Kind::deny || lie.kind == Kind::claim || !lie.about(result)) continue;
        uint64_t count = ++seen_[i];
        if (lie.nth != 0 && lie.nth != count) continue;
        if (lie.once.empty() || first_time(lie.once)) told.push_back(&lie);
    }
    return told;
}

const Lie *Liar::of_kind(Kind kind, const ggml_tensor &tensor) const {
    for (const Lie &lie : lies_)
        if (lie.kind == kind && lie.about(tensor)) return &lie;
    return nullptr;
}

void Liar::leak(uint64_t bytes) {
    std::unique_ptr<char[]> memory(new char[bytes]);
    std::memset(memory.get(), 1, bytes); // else the kernel gives no pages for it
    std::lock_guard lock(mutex_);
    leaked_.push_back(std::move(memory));
}

void Liar::note(const Lie &lie, const ggml_tensor &tensor) {
    if (noted_[static_cast<size_t>(&lie - lies_.data())].exchange(true)) return;
    std::fprintf(stderr, "ggml-liar: lies about %s '%s': %s\n", ggml_op_desc(&tensor), tensor.name, lie.text.c_str());
}

} // namespace apir::liar
