// Which processor takes a device's interrupts, as Linux tells it, and who keeps away from it.
#include "guest_fake.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sched.h>
#include <sys/sysmacros.h>
#include <vector>

#include "guest/interrupted_processor.hpp"

using namespace apir;
using namespace apir::guest;
using namespace apir::guest::test;

namespace {

namespace fs = std::filesystem;

const dev_t node = makedev(226, 128);

fs::path new_folder() {
    std::string name = (fs::temp_directory_path() / "interrupts-XXXXXX").string();
    expect(mkdtemp(name.data()) != nullptr, "a folder");
    return name;
}

// The files of a virtio-gpu on PCI, as a guest of two processors has them.
struct Tree {
    explicit Tree(const std::string &virtio = "virtio3", const std::string &queue = "virtio3-control") {
        const fs::path device = root / "sys/dev/char/226:128/device";
        fs::create_directories(device / virtio);
        fs::create_directories(device / "msi_irqs");
        for (const char *number : {"27", "28", "29"}) std::ofstream(device / "msi_irqs" / number);
        fs::create_directories(root / "proc/irq/27" / (virtio + "-config"));
        fs::create_directories(root / "proc/irq/28" / queue);
        say("0\n");
    }
    ~Tree() { fs::remove_all(root); }
    Tree(const Tree &) = delete;
    Tree &operator=(const Tree &) = delete;
    void say(const std::string &text) const { std::ofstream(root / "proc/irq/28/effective_affinity_list") << text; }
    int told() const { return interrupted_processor(node, root.string()); }

    const fs::path root = new_folder();
};

void as_linux_tells_it() {
    Tree tree;
    expect(tree.told() == 0, "the control queue's");
    tree.say("11\n");
    expect(tree.told() == 11, "another one");
    for (const char *text : {"0-1\n", "0,3\n", "", "\n", "-1\n", "99999999999999999999\n", "none\n"}) {
        tree.say(text);
        expect(tree.told() == -1, std::string("not known by '") + text + "'");
    }
    expect(Tree("virtio3", "virtio4-control").told() == -1, "another device's");
    expect(Tree("virtio3", "virtio3-virtqueues").told() == -1, "one for all queues");
    expect(Tree("net", "net-control").told() == -1, "no virtio device");
    tree.say("1\n");
    expect(interrupted_processor(makedev(226, 129), tree.root.string()) == -1, "another node");
    fs::remove_all(tree.root / "sys/dev/char/226:128/device/msi_irqs");
    expect(tree.told() == -1, "no messages");
    expect(interrupted_processor(node, "/nowhere") == -1, "no files at all");
}

bool same(const cpu_set_t &a, const cpu_set_t &b) { return CPU_EQUAL(&a, &b) != 0; }

cpu_set_t allowed() {
    cpu_set_t set;
    expect(sched_getaffinity(0, sizeof set, &set) == 0, "what this thread may use");
    return set;
}

cpu_set_t only(int processor) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<size_t>(processor), &set);
    return set;
}

void use(const cpu_set_t &processors) { expect(sched_setaffinity(0, sizeof processors, &processors) == 0, "bound"); }

// Who is bound stays bound, and is told where it is.
void whoever_is_bound_stays() {
    const cpu_set_t before = allowed();
    const int here = sched_getcpu();
    use(only(here));
    int its = here;
    uint32_t asked = 0;
    InterruptedProcessor interrupted([&] {
        ++asked;
        return its;
    });
    for (uint32_t left = InterruptedProcessor::asked_every; left > 0; --left) expect(!interrupted.keep_away(), "there");
    expect(same(allowed(), only(here)) && asked == 1, "as it was told");
    its = here + 1;
    for (uint32_t left = InterruptedProcessor::asked_every; left > 0; --left) expect(interrupted.keep_away(), "it has moved on");
    its = -1;
    expect(!interrupted.keep_away() && asked == 3, "nobody knows any more");
    use(before);
}

// Such as the system leaves where it is: it may move one by itself at any time, so that is tried some times.
void whoever_is_not_is_moved() {
    const cpu_set_t before = allowed();
    if (CPU_COUNT(&before) < 2) return;
    bool late = false;
    for (int tries = 0; tries < 20 && !late; ++tries) {
        const int its = sched_getcpu();
        use(only(its));
        InterruptedProcessor interrupted([&] { return its; });
        for (uint32_t left = InterruptedProcessor::patience - 1; left > 0; --left) expect(!interrupted.keep_away(), "not at once");
        use(before);
        late = sched_getcpu() == its && interrupted.keep_away() && sched_getcpu() != its;
        expect(same(allowed(), before), "it may come back");
    }
    expect(late, "it is moved");
}

// By a system that has it back each time.
void whoever_comes_back_is_left_alone_for_longer() {
    const cpu_set_t before = allowed();
    if (CPU_COUNT(&before) < 2) return;
    const int its = sched_getcpu();
    InterruptedProcessor interrupted([&] { return its; });
    std::vector<uint32_t> moved;
    for (uint32_t look = 1; look < 8 * InterruptedProcessor::first_pause; ++look) {
        use(only(its));
        use(before);
        if (interrupted.keep_away() && sched_getcpu() != its) moved.push_back(look);
    }
    // Beside those that the system moves in between two lines.
    expect(!moved.empty() && moved.size() < 20, std::to_string(moved.size()) + " moves");
}

} // namespace

int main() {
    as_linux_tells_it();
    whoever_is_bound_stays();
    whoever_is_not_is_moved();
    whoever_comes_back_is_left_alone_for_longer();
    return failures();
}
