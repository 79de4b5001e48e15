/* explore_run.h - a part of explore.h: executions, at random or all of them, and the report of a failure. */
#ifndef EXPLORE_RUN_H
#define EXPLORE_RUN_H

/* ==========================================================================
 * >>running
 * ========================================================================== */

static void explore_prepare_random(uint64_t seed) {
    static const uint32_t sticky[] = {0, 1, 3, 15}, stale[] = {0, 1, 7, 31};
    explore.random = explore_mix(seed);
    uint32_t bits = explore_bits();
    explore.mode = bits & 1 ? EXPLORE_PCT : bits & 2 ? EXPLORE_STICKY : EXPLORE_UNIFORM;
    explore.stale = stale[(bits >> 8) & 3];
    explore.sticky = explore.mode == EXPLORE_STICKY ? sticky[1 + (bits >> 2) % 3] : 0;
    explore.changes = (int)((bits >> 12) % (EXPLORE_CHANGES + 1));
    for (int i = 0; i < explore.changes; i++)
        explore.change[i] = 1 + explore_below(explore.typical);
}

static void explore_check_end(void) {
    for (int i = 0; i < explore.blocks; i++)
        if (explore.block[i].alive) {
            snprintf(explore.failure, sizeof explore.failure,
                     "leak: allocation %d of the execution, %zu bytes", i + 1,
                     (size_t)(explore.block[i].end - explore.block[i].begin));
            return;
        }
}

/* False: it failed. */
static bool explore_execute(void) {
    explore.execution++;
    explore.running = NULL;
    explore.ready = explore.timed = 0;
    explore.fibers = explore.blocks = explore.steps = explore.depth = 0;
    explore.words = EXPLORE_FIRST_WORD;
    explore.place_of_last = 0;
    explore_clear_times(EXPLORE_PLACE);
    explore.noted = explore.heaped = 0;
    explore.clock = 1000000;
    explore.rested = 0;
    explore.lowest = 0;
    explore.allocations_left = EXPLORE_BLOCKS;
    explore.spurious = 2;
    explore.patience = 4;
    explore.cut = false;
    explore.ahead = NULL;
    explore.plain = 0;
    explore.failure[0] = 0;
    explore_fiber *first = explore_start((void (*)(void *))(uintptr_t)explore.scenario, NULL);
    explore.running = first;
    explore.me = 0;
    if (!explore.guesses) explore_context_switch(&explore.outside, &first->context);
    else if (sigsetjmp(explore.escape, 1) == 0)
        explore_context_switch(&explore.outside, &first->context);
    if (!explore.failure[0] && !explore.cut && !explore.ahead) explore_check_end();
    return !explore.failure[0];
}

/* As the seed says; if all goes well, some once more, with a load that reads ahead. False: it
 * failed. */
static bool explore_execute_seed(uint64_t seed, bool aloud) {
    bool again = explore.ahead_every && seed % explore.ahead_every == 0;
    explore.seed = seed;
    explore.trace = aloud && !again;
    explore.seeks = again;
    explore.guesses = false;
    explore.load_count = 0;
    explore_prepare_random(seed);
    bool ok = explore_execute();
    if (!again || (!ok && !aloud)) return ok;
    explore.trace = aloud;
    explore.seeks = false;
    explore.guesses = ok && explore_choose_load(seed);
    if (ok && !explore.guesses) return true;
    explore_prepare_random(seed);
    return explore_execute();
}

static uint64_t explore_number(const char *variable, uint64_t otherwise) {
    const char *text = getenv(variable);
    return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

/* Everything that is needed to do it again. */
static void explore_print_replay(void) {
    printf("  replay: WSQ_SEED=%llu ", (unsigned long long)explore_number("WSQ_SEED", 1));
    if (explore.guesses) printf("WSQ_AHEAD=%llu ", (unsigned long long)explore.ahead_every);
    printf("WSQ_REPLAY='%s/%d/", explore.name, explore.typical);
    if (explore.mode != EXPLORE_DEPTH_FIRST) {
        printf("%llx'\n", (unsigned long long)explore.seed);
        return;
    }
    int last = explore.known;
    while (last > 0 && !explore.chosen[last - 1]) last--;
    for (int i = 0; i < last; i++) printf("%s%d", i ? "." : "=", explore.chosen[i]);
    printf("%s'\n", last ? "" : "=");
}

static double explore_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* The executions that follow have 60 s, and 20 s of processor time. */
static double explore_armed;

static void explore_arm(void) {
    explore_armed = explore_now();
    alarm(60);
}

static void explore_on_signal(int number) {
    if (number == SIGALRM && explore_now() < explore_armed + 20) { /* other programs had the processor */
        alarm(60);
        return;
    }
    if (explore.ahead) {
        if (number == SIGALRM) explore_arm();
        siglongjmp(explore.escape, 1);
    }
    printf("%s: %s at step %d, fiber %d, after %s\n", explore.name,
           number == SIGALRM ? "no point is reached any more" : "crash", explore.steps,
           explore.running ? explore_me() : -1,
           explore.running && explore.running->at ? explore.running->at : "start");
    explore_print_replay();
    fflush(stdout);
    _exit(1);
}

/* Where the heap lies decides which waits share a bucket. So each WSQ_SEED has its own place. */
static void explore_init(void) {
    static char alternate[65536];
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    size_t stacks = EXPLORE_FIBERS * EXPLORE_STACK;
    if (explore.notes) return;
    uint64_t place = (1 + explore_number("WSQ_SEED", 1) % 1024) << 36;
    char *memory = mmap((void *)(uintptr_t)place, EXPLORE_NOTES + 2 * EXPLORE_HEAP + stacks,
                        PROT_READ | PROT_WRITE, flags, -1, 0);
    if (memory == MAP_FAILED) abort();
    explore.stacks = memory;
    for (size_t i = 0; i < EXPLORE_FIBERS; i++)
        mprotect(memory + i * EXPLORE_STACK, 4096, PROT_NONE);
    explore.notes = memory + stacks;
    explore.heap = explore.notes + EXPLORE_NOTES;
    explore.heap +=
        EXPLORE_HEAP - (uintptr_t)explore.heap % EXPLORE_HEAP; /* replays need equal alignment */
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
    sigaltstack(&stack, NULL);
    struct sigaction action = {.sa_handler = explore_on_signal, .sa_flags = (int)SA_ONSTACK};
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    sigaction(SIGFPE, &action, NULL);
    sigaction(SIGILL, &action, NULL);
    sigaction(SIGALRM, &action, NULL);
    setvbuf(stdout, NULL, _IOLBF, 0);
}

static uint64_t explore_scaled(uint64_t executions) {
    const char *scale = getenv("WSQ_SCALE");
    return scale && *scale ? (uint64_t)((double)executions * strtod(scale, NULL)) : executions;
}

/* Does the failed execution again, aloud, and ends the program. */
static _Noreturn void explore_report_failure(uint64_t executions) {
    int steps = explore.steps;
    printf("%-44s FAILED in execution %llu, after %d steps\n  %s\n", explore.name,
           (unsigned long long)executions, steps, explore.failure);
    explore_print_replay();
    explore.trace_from = getenv("WSQ_REPLAY") ? 0 : steps - 150;
    explore.trace_to = steps;
    if (explore.trace_from > 0) printf("    ... (the last 150 steps)\n");
    explore.trace = true;
    if (explore.mode == EXPLORE_DEPTH_FIRST) explore_execute();
    else explore_execute_seed(explore.seed, true);
    printf("  %s\n", explore.failure[0] ? explore.failure : "(not reproduced)");
    exit(1);
}

static void explore_parse_walk(const char *text) {
    explore.known = 0;
    while (*text && explore.known < EXPLORE_CHOICES) {
        char *end;
        explore.chosen[explore.known++] = (uint16_t)strtoul(text, &end, 10);
        if (*end != '.') break;
        text = end + 1;
    }
}

/* True: the scenario is not to be run as usual. */
static inline bool explore_begin(const char *name, void (*scenario)(void), bool walks) {
    const char *only = getenv("WSQ_SCENARIO"), *replay = getenv("WSQ_REPLAY");
    explore_init();
    explore.name = name;
    explore.scenario = scenario;
    explore.typical = 64;
    explore.limit = EXPLORE_STEPS;
    explore.first_seed = explore_number("WSQ_SEED", 1) << 40;
    explore.ahead_every = explore_number("WSQ_AHEAD", EXPLORE_AHEAD);
    explore.came_true = 0;
    memset(explore.saw, 0, sizeof explore.saw);
    if (!replay) return only && !strstr(name, only);
    size_t length = strlen(name);
    if (strncmp(replay, name, length) || replay[length] != '/') return true;
    char *end;
    explore.typical = (int)strtol(replay + length + 1, &end, 10);
    if (*end != '/' || walks != (end[1] == '=')) return true;
    explore.trace = true;
    explore.trace_to = EXPLORE_STEPS;
    if (walks) {
        explore_parse_walk(end + 2);
        explore.mode = EXPLORE_DEPTH_FIRST;
        explore.stale = 0;
        explore.preemptions = explore.old_reads = explore.typical;
    }
    bool ok = walks ? explore_execute() : explore_execute_seed(strtoull(end + 1, NULL, 16), true);
    printf("%s: %s\n", name, ok ? "no failure" : explore.failure);
    exit(!ok);
}

/* Execution number i; false: it failed. */
static bool explore_execute_random(uint64_t i) {
    if (i % 4096 == 0) explore_arm();
    return explore_execute_seed(explore.first_seed + i, false);
}

static void explore_adapt(void) {
    int more = explore.steps - explore.typical;
    explore.typical += more / (more > 0 ? 4 : 32);
}

/* Random executions. False: the scenario was left out. */
static inline bool explore_random(const char *name, void (*scenario)(void), uint64_t executions) {
    if (explore_begin(name, scenario, false)) return false;
    uint64_t steps = 0;
    double start = explore_now();
    executions = explore_number("WSQ_EXECUTIONS", explore_scaled(executions));
    for (uint64_t i = 0; i < executions; i++) {
        if (!explore_execute_random(i)) explore_report_failure(i + 1);
        steps += (uint64_t)explore.steps;
        explore_adapt();
    }
    double seconds = explore_now() - start;
    printf("%-44s %9llu executions %9.0f/s %5.0f steps %6llu ahead  ok\n", name,
           (unsigned long long)executions, (double)executions / (seconds > 0 ? seconds : 1),
           (double)steps / (double)(executions ? executions : 1),
           (unsigned long long)explore.came_true);
    return true;
}

/* The other way round: a mistake made on purpose must be found, by a report with this text. */
static inline bool explore_catches(const char *name, void (*scenario)(void), uint64_t executions,
                                   const char *text) {
    if (explore_begin(name, scenario, false)) return false;
    for (uint64_t i = 0; i < executions; i++, explore_adapt()) {
        if (explore_execute_random(i)) continue;
        if (!strstr(explore.failure, text)) explore_report_failure(i + 1);
        printf("%-44s %9llu executions, then: %s\n", name, (unsigned long long)i + 1, text);
        return true;
    }
    printf("%-44s FAILED: not found in %llu executions: %s\n", name, (unsigned long long)executions,
           text);
    exit(1);
}

/* On to the next path of the tree; false: that was the last. */
static bool explore_next_path(void) {
    while (explore.known > 0) {
        int last = explore.known - 1;
        if (++explore.chosen[last] < explore.among[last]) return true;
        explore.known--;
    }
    return false;
}

/* All executions with at most `bound` preemptions and `bound` accesses that do not go to the newest
 * store. False: left out. */
static inline bool explore_exhaust(const char *name, void (*scenario)(void), int bound) {
    if (explore_begin(name, scenario, true)) return false;
    explore.seeks = explore.guesses = false;
    uint64_t executions = 0, cut = 0, most = explore_number("WSQ_EXECUTIONS", UINT64_MAX);
    double start = explore_now();
    bool more = true;
    explore.known = 0;
    explore.typical = bound;
    for (; more && executions < most; executions++) {
        if (executions % 4096 == 0) explore_arm();
        explore.mode = EXPLORE_DEPTH_FIRST;
        explore.stale = 0;
        explore.preemptions = explore.old_reads = bound;
        if (!explore_execute()) {
            explore.preemptions = explore.old_reads = bound;
            explore_report_failure(executions + 1);
        }
        cut += explore.cut;
        more = explore_next_path();
    }
    double seconds = explore_now() - start;
    printf("%-44s %9llu executions %9.0f/s %s within %d", name,
           (unsigned long long)executions, (double)executions / (seconds > 0 ? seconds : 1),
           more ? "not all" : "all", bound);
    if (cut) printf(" (%llu cut short)", (unsigned long long)cut);
    printf("  ok\n");
    return true;
}

/* For main to return. */
static inline int explore_end(void) {
    alarm(0);
    return 0;
}

#endif /* EXPLORE_RUN_H */
