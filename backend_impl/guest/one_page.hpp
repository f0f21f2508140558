// Where a loop that an emulated guest goes through often lies.
#pragma once

// An emulator joins the blocks that it makes of a loop only within a page: a loop that lies across two of them is looked up with every round, and a third
// as quick. Such a function, of 1 KiB at most, begins where all of it fits into its page.
#define IN_ONE_PAGE __attribute__((noinline, aligned(1024)))
