/* machine.h - the simulated machines: how many cores, how they lie, and what each thing costs.
 *
 * Prices are in nanoseconds. Their sources:
 *   here      bench/sim/measure.c on the machine of the other benchmarks (AMD EPYC, Zen 5, KVM):
 *             the line's round trip of 102 ns is four transfers, two for the reads and two that end
 *             the reader's copy
 *   the rest  the processor's own prices as here. Between cores: A. Frumusanu and I. Cutress, "AMD
 *             3rd Gen EPYC Milan Review" (AnandTech, 2021), page 4: 20 to 25 ns within a last-level
 *             cache, 85 to 112 from one to another, about 200 to the other socket; memory as there.
 *             Sleep and wake: between the bare futex here (3.2 us) and what a kernel takes to leave
 *             a shallow idle state
 *   overlap   128 lines that the other core has just written take 1.3 ns each when all are looked
 *             at, 18 when each tells where the next one is: 8 is on the safe side
 *   7742, 7R13, 8275CL, 8375C, graviton3   between cores: N. Viennot, core-to-core-latency
 *             (github.com/nviennot/core-to-core-latency, results/), means over all pairs of a kind;
 *             published.c takes them again here. Two sockets of AMD's: a line of the other socket's
 *             memory takes as long between two neighbours (263 and 200 ns) as across (264 and 196):
 *             `home`. Where the clusters are as large as the socket there is one cache, on a mesh.
 *             The rest as here
 *   guesses   `share`, how soon after one reader a line's next reader is served: no table has it;
 *             `stream`, what a line costs that the processor has fetched ahead: half of what a core
 *             copies from another's cache, 20 GB/s */
#ifndef SIM_MACHINE_H
#define SIM_MACHINE_H

#include <stdbool.h>

typedef struct sim_machine {
    const char *name, *what;
    unsigned cores;            /* the pool's; threads from outside have cores of their own */
    unsigned cluster, socket;  /* cores that share a last-level cache, and a socket */
    bool home;                 /* from cluster to cluster a line goes by way of its home, the socket
                                * that touched its page first: from the other socket it is as far as
                                * across, also between two cores of one socket */
    double transfer[3];        /* a line from a core of the same cluster, socket, of another */
    double memory;             /* a line that no cache has */
    double stream;             /* a line behind two that were fetched in order */
    double share;              /* between two readers of a line that all may keep */
    double access;             /* a load or a store that finds its line, and the code around it */
    double rmw, fence, pause, clock;
    unsigned overlap;          /* lines that loads in a row have on the way at once */
    double buffer;             /* how far a core may be ahead of its stores */
    double wake_call, wake_none; /* what the waker pays, with a sleeper and without */
    double wait_call;          /* going to sleep; or finding that the word has changed */
    double wake_latency;       /* from the waker's call until the sleeper runs */
    double timer_latency;      /* how late a time-out comes */
    double thread_start;
} sim_machine;

#define SIM_PROCESSOR \
    .access = 0.27, .rmw = 5.3, .fence = 5.3, .pause = 27.6, .clock = 23, .buffer = 400, \
    .overlap = 8
#define SIM_KERNEL \
    .wake_call = 1500, .wake_none = 180, .wait_call = 250, .wake_latency = 4000, \
    .timer_latency = 50000, .thread_start = 15000

static const sim_machine sim_machines[] = {
    {.name = "here", .what = "2 cores, one last-level cache", .cores = 2, .cluster = 2, .socket = 2,
     .transfer = {25, 25, 25}, .memory = 100, .stream = 3, .share = 5, SIM_PROCESSOR, SIM_KERNEL},
    {.name = "16", .what = "16 cores, a last-level cache for 8", .cores = 16, .cluster = 8,
     .socket = 16, .transfer = {25, 100, 200}, .memory = 120, .stream = 6, .share = 8,
     SIM_PROCESSOR, SIM_KERNEL},
    {.name = "64", .what = "64 cores, a last-level cache for 8", .cores = 64, .cluster = 8,
     .socket = 64, .transfer = {25, 100, 200}, .memory = 120, .stream = 6, .share = 8,
     SIM_PROCESSOR, SIM_KERNEL},
    {.name = "128", .what = "two sockets of 64 cores", .cores = 128, .cluster = 8, .socket = 64,
     .transfer = {25, 100, 200}, .memory = 120, .stream = 6, .share = 8, SIM_PROCESSOR,
     SIM_KERNEL},
    {.name = "1024", .what = "eight sockets of 128 cores", .cores = 1024, .cluster = 8,
     .socket = 128, .transfer = {25, 100, 250}, .memory = 150, .stream = 6, .share = 8,
     SIM_PROCESSOR, SIM_KERNEL},
    {.name = "7742", .what = "two sockets, EPYC 7742: 64 cores, a last-level cache for 4",
     .cores = 128, .cluster = 4, .socket = 64, .home = true, .transfer = {25.4, 128, 264},
     .memory = 122, .stream = 6, .share = 8, SIM_PROCESSOR, SIM_KERNEL},
    {.name = "7R13", .what = "two sockets, EPYC 7R13: 48 cores, a last-level cache for 8",
     .cores = 96, .cluster = 8, .socket = 48, .home = true, .transfer = {23, 105, 197},
     .memory = 120, .stream = 6, .share = 8, SIM_PROCESSOR, SIM_KERNEL},
    {.name = "8275CL", .what = "two sockets, Cascade Lake 8275CL: 24 cores on a mesh", .cores = 48,
     .cluster = 24, .socket = 24, .transfer = {47, 47, 134}, .memory = 100, .stream = 6, .share = 8,
     SIM_PROCESSOR, SIM_KERNEL},
    {.name = "8375C", .what = "two sockets, Ice Lake 8375C: 32 cores on a mesh", .cores = 64,
     .cluster = 32, .socket = 32, .transfer = {51.3, 51.3, 108}, .memory = 100, .stream = 6,
     .share = 8, SIM_PROCESSOR, SIM_KERNEL},
    {.name = "graviton3", .what = "Graviton 3: 64 cores on a mesh", .cores = 64, .cluster = 64,
     .socket = 64, .transfer = {46, 46, 46}, .memory = 120, .stream = 6, .share = 8, SIM_PROCESSOR,
     SIM_KERNEL},
};

#define SIM_MACHINES (sizeof sim_machines / sizeof *sim_machines)

#endif /* SIM_MACHINE_H */
