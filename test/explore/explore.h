/* explore.h - runs wsq.h, unchanged, against an operational model of the C11 memory model.
 *
 *   #define WSQ_RING_CAPACITY 2
 *   #include "explore.h"            points wsq.h to the model's atomics and platform
 *   #define WSQ_IMPLEMENTATION
 *   #include "../../wsq.h"
 *
 *   static void thief(void *arg) { ... wsq_ring_steal(...) ... }
 *   static void scenario(void) {    the first fiber of every execution
 *       explore_start(thief, NULL);
 *       ... wsq_ring_push(...) ...
 *       explore_join();             waits for every other fiber
 *       explore_check(seen[0] == 1);
 *   }
 *   int main(void) {
 *       explore_random("ring: one thief", scenario, 100000);
 *       explore_exhaust("ring: one thief", scenario, 2);
 *       return explore_end();
 *   }
 *
 * The threads of a scenario are fibers of one OS thread. Every access to a shared word is a point
 * at which another fiber may go on, and every word keeps the history of its stores: a load may
 * return any store that its thread is not yet obliged to have passed.
 *
 * THE MODEL is a view machine (the promising semantics without promises; C++20's release
 * sequences). The stores of a word are ordered by time stamps. A view says, for each word, the
 * oldest store that may still be read, and, for each thread, how far its plain accesses are known
 * (a vector clock):
 *   - each thread has a current view, what its relaxed loads picked up (an acquire fence would make
 *     it current), and what its last fence released;
 *   - each store carries a view: of a release store, all that its thread knew; of a relaxed one,
 *     what the last fence released; of a read-modify-write also that of the store that it read;
 *   - one view, `sc`, lists what seq_cst stores wrote and fences knew: every fence exchanges all
 *     with it, a seq_cst store comes after what it says of its word. The seq_cst operations stand
 *     in the order of their execution, but a load may stand earlier, as early as C++20's strongly
 *     happens-before allows, and reads what was known there. None of this orders plain accesses;
 *   - a store may land before others that its thread does not know of (2+2W), never between a
 *     read-modify-write and the store that it read.
 * What it does not show: outcomes that RC11 allows, but that need a seq_cst fence or store to stand
 * before one that was executed earlier and did not happen before it. Load buffering (a load returns
 * a store that was not executed yet) it shows in random executions, for one load in each. Plain
 * memory is read as it is: its accesses must be ordered, and what is not is reported as a race.
 *
 * THE CHOICES (who runs, which store is read, which waiter wakes, spurious returns) come from a
 * seeded generator, with the fiber chosen uniformly, or the same again more often than not, or by
 * PCT (priorities, and up to 3 points at which they change); or, exhaustively, from a depth-first
 * walk with a bound on preemptions and on old stores read.
 *
 * Reported: failed checks and assertions, deadlock (all fibers wait), endless runs, races, use of
 * memory that was freed or of a dead frame, unordered frees, leaks, reads of uninitialised words.
 *
 *   WSQ_EXECUTIONS=n   executions of each random scenario, instead of its own number
 *   WSQ_SCALE=n        n times its own number
 *   WSQ_SEED=n         first seed, and where the heap lies (default: 1)
 *   WSQ_AHEAD=n        one random execution in n (default: 8; 0: none) is done again, with a load
 *                      that reads ahead
 *   WSQ_SCENARIO=text  only the scenarios whose name contains it
 *   WSQ_REPLAY=...     as printed by a failure: that one execution, with a trace of every step
 */
#ifndef EXPLORE_H
#define EXPLORE_H

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "explore_fiber.h"

/* Relative to wsq.h, which includes them. */
#define WSQ_ATOMIC_HEADER "test/explore/explore_atomic.h"
#define WSQ_PLATFORM_HEADER "test/explore/explore_platform.h"
#define WSQI_MANY_THREADS 0u /* threads that block set bits in `empty` */
#define WSQ_ASSERT(condition) \
    ((condition) ? (void)0 : explore_fail("assertion failed at " EXPLORE_AT ": %s", #condition))
#define WSQ_MALLOC(size) explore_malloc(size)
#define WSQ_FREE(pointer) explore_free(pointer)

/* Fibers of one execution, the first one included; a multiple of 8. */
#ifndef EXPLORE_FIBERS
#define EXPLORE_FIBERS 8
#endif

/* Atomic words that one execution may touch, and EXPLORE_FIBERS. */
#ifndef EXPLORE_WORDS
#define EXPLORE_WORDS 2048
#endif

/* Steps after which an execution counts as endless. */
#ifndef EXPLORE_STEPS
#define EXPLORE_STEPS 20000
#endif

#define EXPLORE_STACK ((size_t)128 << 10)
#define EXPLORE_HEAP ((size_t)64 << 20)
#define EXPLORE_BLOCKS 1024
#define EXPLORE_NOTES ((size_t)64 << 20) /* bytes of stores and views of one execution */
#define EXPLORE_PLACES 4096              /* plain locations; a power of two */
#define EXPLORE_OPTIONS 64               /* newest stores that a load chooses from */
#define EXPLORE_CHOICES 100000           /* depth of the exhaustive walk */
#define EXPLORE_POISON 0xa5              /* fills new memory */
#define EXPLORE_CHANGES 3                /* PCT: most change points */
#define EXPLORE_AHEAD 8                  /* WSQ_AHEAD, unless that says otherwise */
#define EXPLORE_LOADS 4096               /* loads of one execution that could read ahead */
#define EXPLORE_FAR 200                  /* steps that are read ahead at most */

#define EXPLORE_TEXT2(x) #x
#define EXPLORE_TEXT(x) EXPLORE_TEXT2(x)
#define EXPLORE_AT __FILE__ ":" EXPLORE_TEXT(__LINE__)
#define EXPLORE_LIKELY(x) __builtin_expect(!!(x), 1)
#define EXPLORE_SLOW __attribute__((noinline, cold, unused))
#define EXPLORE_BIT(i) ((uint32_t)1 << (i))

/* The programs are compiled with -O1, which takes the compiler half of the time; the model pays. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("O2")
#endif

#include "explore_state.h"
#include "explore_schedule.h"
#include "explore_memory.h"
#include "explore_word.h"
#include "explore_thread.h"
#include "explore_run.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif

#endif /* EXPLORE_H */
