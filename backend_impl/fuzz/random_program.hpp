// A program that uses the guest library at random, as ggml allows it, and knows what all of its tensors have to hold.
//
// What it reads may be wrong only where the host has failed, and only if the program is told: by a graph that is refused since, or by the next one. After
// that it begins anew, and nothing may be wrong then. A device that is lost comes back when all programs of the process have freed what they have of it.
#pragma once

#include <array>
#include <list>

#include "meddling_host.hpp"
#include "tests/guest_bench.hpp"

namespace apir::fuzz {

inline constexpr size_t tensors_of_one = 4;

// A buffer with its tensors, and what these have to hold.
struct Memory {
    bool allocate(guest::Registry &registry, int64_t elements);
    // Whether what is held is what is read again.
    bool write();

    guest::test::Buffer buffer{nullptr, ggml_backend_buffer_free};
    guest::test::Context context = guest::test::context();
    std::array<ggml_tensor *, tensors_of_one> tensors{};
    std::array<std::vector<float>, tensors_of_one> held;
};

// What threads have in common: written before any of them begins, and read by all. As a model's weights are. Null on a machine that is too busy for
// deadlines.
std::unique_ptr<Memory> weights(guest::Registry &registry, MeddlingHost &host, uint64_t seed, int64_t elements);

// What programs are told of where they are.
struct Setting {
    guest::Registry &registry;
    MeddlingHost &host;
    Story &story;
    int64_t elements; // of each tensor
    bool alone;       // nobody else uses the registry, and what is told is this one's
    bool comes_back;  // a device that is lost
    Memory *weights;  // or null
};

class RandomProgram {
  public:
    RandomProgram(const Setting &setting, uint64_t seed);
    ~RandomProgram();
    RandomProgram(const RandomProgram &) = delete;
    RandomProgram &operator=(const RandomProgram &) = delete;

    void run(int steps);
    // What must not be, in words.
    const std::vector<std::string> &violations() const { return violations_; }
    // How often it was told that something had failed, and how often it looked at what it had read.
    int told() const { return told_; }
    int checked() const { return checked_; }

  private:
    using Bytes = std::vector<uint8_t>;
    using Event = std::unique_ptr<ggml_backend_event, decltype(&ggml_backend_event_free)>;

    static constexpr size_t buffers = 3; // of its own: their tensors have the first numbers, those of the weights the next ones
    static constexpr size_t streams = 2;

    // d = (a + b) / 2, tensors by their number.
    struct Step {
        size_t a, b, d;
    };
    struct Graph {
        guest::test::Context context{nullptr, ggml_free};
        ggml_cgraph *graph = nullptr;
        std::vector<Step> steps;
        bool uses(size_t memory) const;
    };
    // What is read by a call that has not ended, and what it has to be.
    struct Reading {
        Bytes got, right;
        std::string what;
    };
    struct Stream {
        guest::test::Backend backend{nullptr, ggml_backend_free};
        bool is_busy = false;
        std::list<Bytes> sent; // by calls that have not ended
        std::list<Reading> readings;
        guest::test::Context context = guest::test::context(); // of the graph that tells
        guest::test::Buffer buffer{nullptr, ggml_backend_buffer_free};
        ggml_cgraph *telling = nullptr;
    };
    struct Range {
        size_t offset, size;
    };

    void say(const char *form, ...) __attribute__((format(printf, 2, 3)));
    void violate(const std::string &what);
    Memory &memory(size_t number) { return number / tensors_of_one == buffers ? *setting_.weights : memories_[number / tensors_of_one]; }
    ggml_tensor *tensor(size_t number) { return memory(number).tensors[number % tensors_of_one]; }
    std::vector<float> &held(size_t number) { return memory(number).held[number % tensors_of_one]; }
    bool is_there(size_t number) { return memory(number).buffer != nullptr; }
    size_t readable() const { return (buffers + (setting_.weights != nullptr)) * tensors_of_one; }
    size_t size() const { return static_cast<size_t>(setting_.elements) * sizeof(float); }
    bool any(size_t &number);
    bool any_readable(size_t &number);
    Range range();
    Bytes numbers(size_t size);
    void hold(size_t number, const Range &range, const uint8_t *bytes);
    Bytes right(size_t number, const Range &range);

    void step();
    void set(size_t number);
    void set_rows(size_t number);
    void get(size_t number);
    void get_rows(size_t number);
    void fill(size_t number);
    void clear(size_t number);
    void copy(size_t from, size_t to);
    void set_ahead(size_t number);
    void get_ahead(size_t number);
    void copy_ahead(size_t from, size_t to);
    void build(Graph &graph, size_t steps);
    Graph *any_graph();
    void compute(bool ahead);
    void renew(size_t memory);
    void renew_stream(size_t stream);
    void ask();

    Stream &use(size_t stream);
    void synchronize(Stream &stream);
    void synchronize_all();
    void check(const Bytes &got, const Bytes &right, const std::string &what);
    ggml_status told_by(Stream &stream);
    bool open(Stream &stream);
    bool open_all();
    void free_all();
    bool is_lost() const;
    bool has_device();
    void demand();
    bool tells();
    void begin_anew();
    void settle();
    bool write_all();
    std::string wrong_now();

    const Setting setting_;
    const uint64_t seed_;
    Random random_;
    std::array<Memory, buffers> memories_;
    std::array<Stream, streams> streams_;
    std::list<Graph> graphs_;
    std::string wrong_; // what was read wrong, and not told
    bool is_told_ = false;
    int told_ = 0;
    int checked_ = 0;
    std::vector<std::string> violations_;
};

} // namespace apir::fuzz
