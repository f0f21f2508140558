// Every interleaving of a few threads that step through the ring's real functions.
//
// The ring's ends are templates over how they reach shared memory. `Stepped` stops before each of these accesses and lets the
// explorer choose who goes on: so what is explored is the code that runs, not a copy of it. Threads are coroutines; a state
// is the memory, the threads' own objects, and what each has read or copied since its last checkpoint. States that were seen before are
// not explored again; a way back is taken by running the same choices from the beginning. All accesses are taken as sequentially consistent:
// those that have to be are (ring.hpp), the others hand memory over by release and acquire.
#pragma once

#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <ucontext.h>
#include <unordered_set>
#include <vector>

namespace apir::test {

// One run along given choices. Bodies may throw nothing and own nothing: they are left behind where they stand.
class Machine {
  public:
    using Body = std::function<void()>;
    using Condition = std::function<bool()>;

    explicit Machine(const std::vector<Body> &bodies) {
        current_machine() = this;
        for (const Body &body : bodies) threads_.push_back(std::make_unique<Thread>(body, threads_.size()));
        for (auto &thread : threads_) resume(*thread);
    }
    Machine(const Machine &) = delete;
    Machine &operator=(const Machine &) = delete;

    static Machine &current() { return *current_machine(); }

    // For bodies.
    void point() { stop({}); }
    void wait_until(Condition condition) { stop(std::move(condition)); }
    size_t self() const { return running_->number; }
    void note(uint64_t value) { mix(running_->history, value + 1); }
    // From here on, the thread's state follows from `label` and from what belongs to the state.
    void checkpoint(uint64_t label) {
        running_->history = 0;
        note(label);
    }

    // For the explorer.
    size_t size() const { return threads_.size(); }
    bool ended(size_t thread) const { return threads_[thread]->ended; }
    bool enabled(size_t thread) const {
        const Thread &each = *threads_[thread];
        return !each.ended && (!each.condition || each.condition());
    }
    void step(size_t thread) {
        threads_[thread]->condition = {};
        resume(*threads_[thread]);
    }
    uint64_t history(size_t thread) const { return threads_[thread]->ended ? UINT64_MAX : threads_[thread]->history; }

    static void mix(uint64_t &hash, uint64_t value) {
        hash ^= value + 0x9e3779b97f4a7c15U + (hash << 6) + (hash >> 2);
        hash *= 0xff51afd7ed558ccdU;
        hash ^= hash >> 32;
    }

  private:
    static constexpr size_t stack_size = size_t{64} << 10;

    static std::vector<std::unique_ptr<char[]>> &spare_stacks() {
        static std::vector<std::unique_ptr<char[]>> stacks;
        return stacks;
    }
    static std::unique_ptr<char[]> spare_stack() {
        auto &spare = spare_stacks();
        if (spare.empty()) return std::unique_ptr<char[]>(new char[stack_size]);
        std::unique_ptr<char[]> stack = std::move(spare.back());
        spare.pop_back();
        return stack;
    }

    struct Thread {
        Thread(Body what, size_t index) : body(std::move(what)), number(index), stack(spare_stack()) {}
        ~Thread() { spare_stacks().push_back(std::move(stack)); }
        Body body;
        const size_t number;
        std::unique_ptr<char[]> stack;
        ucontext_t begin{};
        jmp_buf place{};
        Condition condition;
        uint64_t history = 0;
        bool begun = false;
        bool ended = false;
    };

    static Machine *&current_machine() {
        static Machine *machine = nullptr;
        return machine;
    }

    static void enter() {
        Machine &machine = current();
        machine.running_->body();
        machine.running_->ended = true;
        _longjmp(machine.explorer_, 1);
    }

    void resume(Thread &thread) {
        running_ = &thread;
        if (_setjmp(explorer_) != 0) return;
        if (thread.begun) _longjmp(thread.place, 1);
        thread.begun = true;
        getcontext(&thread.begin);
        thread.begin.uc_stack.ss_sp = thread.stack.get();
        thread.begin.uc_stack.ss_size = stack_size;
        makecontext(&thread.begin, &Machine::enter, 0);
        setcontext(&thread.begin);
    }

    void stop(Condition condition) {
        running_->condition = std::move(condition);
        note(0); // one place further, whatever it reads there
        if (_setjmp(running_->place) == 0) _longjmp(explorer_, 1);
    }

    std::vector<std::unique_ptr<Thread>> threads_;
    Thread *running_ = nullptr;
    jmp_buf explorer_{};
};

// What is explored: made anew for each run.
class Scene {
  public:
    virtual ~Scene() = default;
    virtual std::vector<Machine::Body> bodies() = 0;
    // Whether a thread still lives.
    virtual bool alive(size_t thread) const = 0;
    // Everything that the threads share or keep in objects.
    virtual uint64_t state() const = 0;
    // What is wrong by now; nullptr: nothing.
    virtual const char *wrong() const = 0;
    // Nobody can go on: what is wrong about that.
    virtual const char *wrong_at_rest(const Machine &machine) const = 0;
};

struct Found {
    size_t states = 0;
    std::string wrong; // empty: nothing in any state
    std::vector<size_t> way; // the choices that lead there
};

using Make = std::function<std::unique_ptr<Scene>()>;

class Explorer {
  public:
    explicit Explorer(Make make) : make_(std::move(make)) {}

    Found explore() {
        start({});
        dive();
        return found_;
    }

  private:
    void start(const std::vector<size_t> &way) {
        machine_.reset();
        scene_ = make_();
        machine_ = std::make_unique<Machine>(scene_->bodies());
        for (size_t choice : way) machine_->step(choice);
    }

    uint64_t state() const {
        uint64_t hash = scene_->state();
        for (size_t i = 0; i < machine_->size(); ++i) Machine::mix(hash, machine_->history(i));
        return hash;
    }

    void fail(const char *what) {
        found_.wrong = what;
        found_.way = way_;
    }

    // Explores on from where machine and scene stand; they stand elsewhere afterwards.
    void dive() {
        if (const char *wrong = scene_->wrong()) return fail(wrong);
        uint64_t here = state();
        if (on_way_.count(here) != 0) return fail("it goes round in circles");
        if (!seen_.insert(here).second) return;
        ++found_.states;
        std::vector<size_t> choices;
        for (size_t i = 0; i < machine_->size(); ++i)
            if (scene_->alive(i) && machine_->enabled(i)) choices.push_back(i);
        if (choices.empty()) {
            if (const char *wrong = scene_->wrong_at_rest(*machine_)) fail(wrong);
            return;
        }
        on_way_.insert(here);
        for (size_t choice : choices) {
            if (choice != choices.front()) start(way_);
            machine_->step(choice);
            way_.push_back(choice);
            dive();
            way_.pop_back();
            if (!found_.wrong.empty()) return;
        }
        on_way_.erase(here);
    }

    Make make_;
    std::unique_ptr<Scene> scene_;
    std::unique_ptr<Machine> machine_;
    std::vector<size_t> way_;
    std::unordered_set<uint64_t> seen_;
    std::unordered_set<uint64_t> on_way_;
    Found found_;
};

// What explorations found, a line each, and how many found something else than was wanted.
class Verdicts {
  public:
    void sound(const char *name, const Make &make) {
        const Found found = Explorer(make).explore();
        std::printf("%-48s %7zu states: %s\n", name, found.states, found.wrong.empty() ? "nothing wrong" : found.wrong.c_str());
        failures_ += found.wrong.empty() && found.states > 1000 ? 0 : 1;
    }
    void planted(const char *name, const Make &make, const char *wanted) {
        const Found found = Explorer(make).explore();
        std::printf("%-48s %7zu states: %s, after %zu steps\n", name, found.states, found.wrong.c_str(), found.way.size());
        failures_ += found.wrong.find(wanted) != std::string::npos ? 0 : 1;
    }
    int failures() const { return failures_; }

  private:
    int failures_ = 0;
};

} // namespace apir::test
