/* Each rule of the simulated machine, in a program of a few accesses whose time is known.
 *
 *   litmus             a line for each that is broken; the last says "N passed, M failed" */
#include "sim.h"

static int passed, failed;
static wsqi_a64 *words; /* one to a line, 64 of them */

static wsqi_a64 *word(int i) { return &words[8 * i]; }

static void expect(const char *rule, double ns, double expected, double tolerance) {
    bool ok = ns >= expected - tolerance && ns <= expected + tolerance;
    if (ok) passed++;
    else failed++;
    if (!ok) printf("FAILED: %s: %.2f ns, not %.2f\n", rule, ns, expected);
}

static void begin(const sim_machine *machine) {
    sim_begin(machine);
    words = (wsqi_a64 *)sim_allocate(64 * 64);
}

static double now(void) { return (double)sim.running->clock / 1000; }

/* The threads of a test run for themselves, in the order of their clocks, from `at` on. */
typedef struct actor {
    double at, took;
    int word, times;
    void (*act)(struct actor *self);
} actor;

static void actor_main(void *arg) {
    actor *self = (actor *)arg;
    double start = now();
    if (start < self->at) sim_work((uint64_t)(self->at - start));
    sim_turn();
    start = now();
    self->act(self);
    self->took = now() - start;
}

static void play(actor *actors, int count) {
    sim_core *cores[SIM_CORES];
    double start = now() + 1000 + count * sim.machine->thread_start;
    for (int i = 0; i < count; i++) actors[i].at += start;
    for (int i = 0; i < count; i++) cores[i] = sim_thread(actor_main, &actors[i]);
    for (int i = 0; i < count; i++) sim_join(cores[i]);
    sim_end();
}

static void act_load(actor *self) {
    for (int i = 0; i < self->times; i++) wsqi_load_rlx(word(self->word));
}

static void act_store(actor *self) {
    for (int i = 0; i < self->times; i++) wsqi_store_rlx(word(self->word), (uint64_t)i);
}

static void act_add(actor *self) {
    for (int i = 0; i < self->times; i++) wsqi_add_rlx(word(self->word), (uint64_t)1);
}

static void act_store_fence(actor *self) {
    act_store(self);
    wsqi_fence_sc();
}

static void act_fetch(actor *self) {
    for (int i = 0; i < self->times; i++) (void)wsqi_get(&word(i)->v);
}

/* ---- the rules ---- */

static void rule_hit(const sim_machine *m) {
    actor actors[] = {{.times = 1001, .act = act_load}};
    begin(m);
    play(actors, 1);
    expect("a line that its core has costs an access", actors[0].took, m->memory + 1001 * m->access,
           0.1);
}

static void rule_rmw(const sim_machine *m) {
    actor actors[] = {{.times = 100, .act = act_add}};
    begin(m);
    play(actors, 1);
    expect("a read-modify-write has its price", actors[0].took, m->memory + 100 * m->rmw, 0.1);
}

/* One writes, then another reads it: from near, from the same socket, from the other. */
static void rule_distance(const sim_machine *m) {
    static const char *const rules[] = {"a line comes from the same cluster",
                                        "a line comes from the same socket",
                                        "a line comes from another socket"};
    for (int d = 0; d < 3; d++) {
        unsigned core = d == 0 ? 1 : d == 1 ? m->cluster : m->socket;
        if (core >= m->cores || (d == 1 && m->cluster == m->socket)) continue;
        actor actors[SIM_CORES] = {{.times = 1, .act = act_add}};
        begin(m);
        for (unsigned i = 1; i <= core; i++)
            actors[i] = (actor){.at = 5000, .word = i == core ? 0 : 1, .act = act_load,
                                .times = i == core};
        play(actors, (int)core + 1);
        expect(rules[d], actors[core].took, m->transfer[d] + m->access, 0.1);
    }
}

/* Two cores that write a line in turn: each time it moves. */
static void rule_in_turn(const sim_machine *m) {
    actor actors[] = {{.times = 1, .act = act_add}, {.at = 1000, .times = 1, .act = act_add}};
    begin(m);
    play(actors, 2);
    expect("a line that two cores write in turn costs a transfer each time", actors[1].took,
           m->transfer[0] + m->rmw, 0.1);
}

/* Two at the same time: the core that has the line works on until the request of the other arrives, half of the way. */
static void rule_contended(const sim_machine *m) {
    actor actors[] = {{.times = 20000, .act = act_add}, {.times = 20000, .act = act_add}};
    begin(m);
    play(actors, 2);
    double in_turn = 1 + m->transfer[0] / 2 / m->rmw;
    expect("two cores at one word get it for half a transfer each",
           (actors[0].took > actors[1].took ? actors[0].took : actors[1].took) / 40000,
           m->transfer[0] / in_turn, 0.35 * m->transfer[0] / in_turn);
}

static void rule_readers(const sim_machine *m) {
    actor actors[SIM_CORES];
    unsigned n = m->cores;
    begin(m);
    for (unsigned i = 0; i < n; i++)
        actors[i] = (actor){.at = i * 1000, .times = 10000, .act = act_load};
    play(actors, (int)n);
    double most = 0, way = m->transfer[2] > m->memory ? m->transfer[2] : m->memory;
    for (unsigned i = 0; i < n; i++) most = actors[i].took > most ? actors[i].took : most;
    expect("readers of a quiet line pay for the first time only", most,
           way / 2 + 10000 * m->access, way / 2 + 0.1);
}

/* All read a line at once: they follow one another, a share each. */
static void rule_share(const sim_machine *m) {
    actor actors[SIM_CORES] = {{.times = 1, .act = act_load}};
    unsigned n = m->cores;
    begin(m);
    for (unsigned i = 1; i < n; i++)
        actors[i] = (actor){.at = 10000, .times = 1, .act = act_load};
    play(actors, (int)n);
    double most = 0;
    for (unsigned i = 1; i < n; i++) most = actors[i].took > most ? actors[i].took : most;
    expect("readers that come together follow one another", most,
           m->transfer[0] + (n - 2) * m->share + m->access, m->transfer[2]);
}

static void rule_invalidate(const sim_machine *m) {
    actor actors[SIM_CORES];
    unsigned n = m->cores;
    begin(m);
    for (unsigned i = 0; i < n; i++)
        actors[i] = (actor){.at = 1000 * i, .times = 1, .act = act_load};
    actors[0] = (actor){.at = 1000000, .times = 2, .act = act_add};
    play(actors, (int)n);
    int furthest = m->cores > m->socket ? 2 : m->cores > m->cluster ? 1 : 0;
    expect("a write takes the line from all who share it, once", actors[0].took,
           m->transfer[furthest] + 2 * m->rmw, 0.1);
}

static void rule_buffer(const sim_machine *m) {
    actor actors[] = {{.times = 1, .act = act_add}, {.at = 1000, .times = 1, .act = act_store}};
    begin(m);
    play(actors, 2);
    expect("a store does not wait for its line", actors[1].took, m->access, 0.1);
    actors[0] = (actor){.times = 1, .act = act_add};
    actors[1] = (actor){.at = 1000, .times = 1, .act = act_store_fence};
    begin(m);
    play(actors, 2);
    expect("a fence does", actors[1].took, m->transfer[0] + m->fence, 0.3);
}

static void rule_stream(const sim_machine *m) {
    actor actors[] = {{.times = 32, .act = act_fetch}};
    begin(m);
    play(actors, 1);
    expect("lines in order are fetched ahead, from the third on", actors[0].took,
           2 * m->memory + 30 * m->stream + 32 * m->access, 0.1);
}

static void act_look(actor *self) {
    for (int i = 0; i < self->times; i++) wsqi_load_rlx(word(i * 7 % 64));
}

static void act_follow(actor *self) {
    for (int i = 0; i < self->times; i++) (void)wsqi_get(&word(i * 7 % 64)->v);
}

static void rule_row(const sim_machine *m) {
    actor looks[] = {{.times = 32, .act = act_look}};
    actor follows[] = {{.times = 32, .act = act_follow}};
    begin(m);
    play(looks, 1);
    expect("a look at many lines has several on the way", looks[0].took,
           2 * m->memory + 30 * m->memory / m->overlap + 32 * m->access, 0.1);
    begin(m);
    play(follows, 1);
    expect("following pointers has one", follows[0].took, 32 * (m->memory + m->access), 0.1);
}

/* ---- sleep and wake ---- */

static wsqi_parking parking;
static wsqi_a32 *bell;
static double woken_at, rung_at, called_for;

static void sleeper(void *arg) {
    (void)arg;
    wsqi_parking_wait(&parking, bell, 0, 0);
    woken_at = now();
}

static void timed_sleeper(void *arg) {
    (void)arg;
    rung_at = now();
    wsqi_parking_wait(&parking, bell, 0, 1000000);
    woken_at = now();
}

static void rule_sleep(const sim_machine *m) {
    begin(m);
    bell = (wsqi_a32 *)sim_allocate(64);
    sim_core *core = sim_thread(sleeper, NULL);
    sim_nap(1000000);
    wsqi_store_rlx(bell, 1u);
    rung_at = now();
    wsqi_parking_wake(&parking, bell, false);
    called_for = now() - rung_at;
    sim_join(core);
    sim_end();
    expect("who wakes pays for its call", called_for, m->wake_call, 0.1);
    expect("who sleeps runs after the latency", woken_at - rung_at, m->wake_latency, 0.1);
    begin(m);
    bell = (wsqi_a32 *)sim_allocate(64);
    core = sim_thread(timed_sleeper, NULL);
    sim_join(core);
    sim_end();
    expect("a time-out comes late", woken_at - rung_at, 1e6 + m->timer_latency, 2 * m->memory);
}

/* A wake is not lost between the look at the word and the sleep: the first writer is seen. */
static void rule_refused(const sim_machine *m) {
    begin(m);
    bell = (wsqi_a32 *)sim_allocate(64);
    wsqi_store_rlx(bell, 1u);
    sim_core *core = sim_thread(sleeper, NULL);
    sim_join(core);
    sim_end();
    expect("a word that has changed lets nobody sleep", 0, 0, 0);
}

static int program(int argc, char **argv) {
    if (argc > 1) {
        fprintf(stderr, "litmus takes no arguments: \"%s\"\n", argv[1]);
        return 2;
    }
    for (size_t i = 0; i < SIM_MACHINES; i++) {
        const sim_machine *m = &sim_machines[i];
        rule_hit(m);
        rule_rmw(m);
        rule_distance(m);
        rule_in_turn(m);
        rule_contended(m);
        rule_readers(m);
        rule_share(m);
        rule_invalidate(m);
        rule_buffer(m);
        rule_stream(m);
        rule_row(m);
        rule_sleep(m);
        rule_refused(m);
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}

int main(int argc, char **argv) { return sim_program_run(program, argc, argv); }
