// Which processor takes a device's interrupts, as the system's files say; when a thread looks; and that it is moved, and free again afterwards.
#include <filesystem>
#include <fstream>
#include <sched.h>
#include <string>
#include <thread>

#include "guest/interrupted_processor.hpp"
#include "host_expect.hpp"

using namespace apir::guest;
using namespace apir::test;
using namespace std::chrono_literals;

namespace {

const InterruptWatch::Clock::time_point start{100s};
const std::string node = "/dev/dri/renderD128";

// The files of a system, of which the device has the interrupts 27 to 29.
class System {
  public:
    explicit System(const std::string &handler = "virtio3-control") {
        std::string name = std::filesystem::temp_directory_path() / "interrupts-XXXXXX";
        if (mkdtemp(name.data()) == nullptr) std::abort();
        root_ = name;
        write("sys/class/drm/renderD128/device/msi_irqs/27", "msix\n");
        write("sys/class/drm/renderD128/device/msi_irqs/28", "msix\n");
        write("proc/irq/27/virtio3-config/none", "");
        write("proc/irq/27/effective_affinity_list", "5\n");
        write("proc/irq/28/" + handler + "/none", "");
        write("proc/irq/31/virtio2-control/none", "");
        write("proc/irq/31/effective_affinity_list", "7\n");
    }
    ~System() { std::filesystem::remove_all(root_); }

    void send_to(const std::string &processors) { write("proc/irq/28/effective_affinity_list", processors + "\n"); }
    const std::string &root() const { return root_; }

  private:
    void write(const std::string &name, const std::string &text) {
        const std::filesystem::path path = std::filesystem::path(root_) / name;
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path) << text;
    }

    std::string root_;
};

void the_system_says_where_interrupts_go() {
    System system;
    const InterruptedProcessor processor(node, system.root());
    expect(!processor.find(), "nothing is said yet");
    system.send_to("1");
    expect(processor.find() == 1, "to one");
    system.send_to("12");
    expect(processor.find() == 12, "to another one");
    for (const char *others : {"0-1", "0,2", "", "none", "-1"}) {
        system.send_to(others);
        expect(!processor.find(), std::string("'") + others + "' is not one");
    }
    system.send_to("3");
    expect(!InterruptedProcessor("/dev/dri/renderD129", system.root()).find(), "another device's");
    System shared("virtio3-virtqueues");
    shared.send_to("2");
    expect(InterruptedProcessor(node, shared.root()).find() == 2, "one interrupt for all queues");
    System other("virtio3-cursor");
    other.send_to("2");
    expect(!InterruptedProcessor(node, other.root()).find(), "none of the control queue");
}

// How many submissions of a thread, one each millisecond, until it looks; 0: not within a hundred.
uint32_t until_look(InterruptWatch &watch, uintptr_t thread, int processor, InterruptWatch::Clock::time_point &now) {
    for (uint32_t count = 1; count <= 100; ++count) {
        now += 1ms;
        if (watch.is_alone(thread, now) && watch.should_look(processor, now)) return count;
    }
    return 0;
}

void a_thread_looks_that_submits_alone() {
    InterruptWatch watch;
    InterruptWatch::Clock::time_point now = start;
    expect(until_look(watch, 1, 0, now) == InterruptWatch::alone + 1, "after so many");
    expect(until_look(watch, 1, 0, now) == 0, "once, while it stays there");
    expect(until_look(watch, 1, 1, now) == 1, "at once, where it is brought elsewhere");
    expect(until_look(watch, 2, 0, now) == InterruptWatch::alone + 1, "another thread");
    bool looked = false;
    for (int i = 0; i < 200; ++i)
        for (const uintptr_t thread : {3, 4}) looked = watch.is_alone(thread, now) || looked;
    expect(!looked, "two threads in turns");
}

void a_thread_looks_now_and_then() {
    InterruptWatch watch;
    InterruptWatch::Clock::time_point now = start;
    until_look(watch, 1, 0, now);
    int looks = 0;
    for (int i = 0; i < 3; ++i)
        for (int ms = 0; ms < 1000; ms += 5) {
            now += 5ms;
            looks += watch.is_alone(1, now) && watch.should_look(0, now);
        }
    expect(looks == 3 || looks == 2, std::to_string(looks) + " looks in three seconds");
    now += 2s;
    expect(!watch.is_alone(1, now), "not before the first call after a pause");
    expect(until_look(watch, 1, 0, now) == InterruptWatch::alone, "but when there were more of them again");
}

// A thread that the system brings back at once, for two seconds: how often it is moved.
void a_thread_that_is_brought_back_is_moved_more_and_more_rarely() {
    InterruptWatch watch;
    InterruptWatch::Clock::time_point now = start;
    until_look(watch, 1, 0, now);
    watch.moved(1, now);
    int moved = 1;
    for (int i = 0; i < 2000; ++i) {
        now += 1ms;
        if (!watch.is_alone(1, now) || !watch.should_look(0, now)) continue;
        watch.moved(1, now);
        ++moved;
    }
    expect(moved >= 4 && moved <= 9, std::to_string(moved) + " times in two seconds");
}

cpu_set_t allowed() {
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof set, &set);
    return set;
}

// How often the calling thread is moved.
int submit_often(InterruptedProcessor &processor) {
    int moved = 0;
    for (uint32_t i = 0; i < 2 * InterruptWatch::alone; ++i) moved += processor.keep_off();
    return moved;
}

// In a thread of its own, whose processors nobody else minds. The system may bring it anywhere before it looks.
void a_thread_is_moved_and_free_again() {
    const cpu_set_t before = allowed();
    bool moved = CPU_COUNT(&before) == 1; // then there is nowhere to go
    for (int attempt = 0; attempt < 20 && !moved; ++attempt)
        std::thread([&] {
            System system;
            const int here = sched_getcpu();
            system.send_to(std::to_string(here));
            InterruptedProcessor interrupted(node, system.root());
            moved = submit_often(interrupted) == 1 && sched_getcpu() != here;
            const cpu_set_t after = allowed();
            expect(CPU_EQUAL(&before, &after), "it may go where it might before");
        }).join();
    expect(moved, "it never is anywhere else");
}

void a_thread_stays_where_no_interrupts_go() {
    System system;
    system.send_to(std::to_string(CPU_SETSIZE - 1));
    InterruptedProcessor interrupted(node, system.root());
    expect(submit_often(interrupted) == 0, "it is moved from where none go");
    System unknown;
    InterruptedProcessor nowhere(node, unknown.root());
    expect(submit_often(nowhere) == 0, "it is moved, though nobody knows where they go");
}

void a_thread_with_one_processor_stays_there() {
    std::thread([] {
        cpu_set_t only;
        CPU_ZERO(&only);
        const int here = sched_getcpu();
        CPU_SET(static_cast<size_t>(here), &only);
        sched_setaffinity(0, sizeof only, &only);
        System system;
        system.send_to(std::to_string(here));
        InterruptedProcessor interrupted(node, system.root());
        expect(submit_often(interrupted) == 0, "it is moved");
        const cpu_set_t after = allowed();
        expect(CPU_EQUAL(&only, &after) && sched_getcpu() == here, "it was bound there by whoever knows why");
    }).join();
}

} // namespace

int main() {
    the_system_says_where_interrupts_go();
    a_thread_looks_that_submits_alone();
    a_thread_looks_now_and_then();
    a_thread_that_is_brought_back_is_moved_more_and_more_rarely();
    a_thread_is_moved_and_free_again();
    a_thread_stays_where_no_interrupts_go();
    a_thread_with_one_processor_stays_there();
    return failures == 0 ? 0 : 1;
}
