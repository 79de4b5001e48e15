/* What becomes of wsq on many cores: the questions of README.md, answered in virtual time.
 *
 *   questions [-q] [-s] [-l] [-m MACHINE]... [-n WORKERS]... [-r ROW]... [-w MS] [-c FILE] [QUESTION...]
 *
 * -q: a minute's worth. -s: pools are WSQ_SHARED. -r: only this workload, in `weak`, `strong`, `hot`.
 * -w: so much work for each worker, in `weak` and `hot`. -c: a row of FILE for each figure. Without
 * -m it is the machine of 128 cores. */
#include "efficiency.h"
#include "events.h"
#include "steps.h"
#include "users.h"

enum { MOST = 16 };

static struct {
    bool quick;
    const sim_machine *machines[MOST];
    int machine_count;
    unsigned workers[MOST];
    int worker_count;
    bool rows[WORKLOADS];
    int row_count;  /* 0: all */
    double work_ms; /* 0: as the question has it */
} options;

static bool row_wanted(int row) { return options.row_count == 0 || options.rows[row]; }

/* ns: of work for each worker. */
static double work_each(void) {
    return options.work_ms != 0 ? options.work_ms * 1e6 : options.quick ? 0.5e6 : 1e6;
}

/* The numbers of workers to look at: 1, 2, 4 and so on; fewer of them in a hurry. */
static int workers_list(const sim_machine *machine, unsigned *list) {
    int count = 0;
    for (int i = 0; i < options.worker_count; i++)
        if (options.workers[i] <= machine->cores) list[count++] = options.workers[i];
    if (options.worker_count != 0) return count;
    for (unsigned n = 1; n <= machine->cores; n *= options.quick ? 4 : 2) list[count++] = n;
    if (list[count - 1] != machine->cores) list[count++] = machine->cores;
    return count;
}

static void head(const char *title, const unsigned *list, int count) {
    printf("\n%s; %s\n%-12s", title, sim.machine->what, "workers");
    for (int i = 0; i < count; i++) printf("%8u", list[i]);
    putchar('\n');
}

/* ---- efficiency ---- */

/* weak: so much work for each worker; strong: for all together. */
static void ask_efficiency(const sim_machine *machine, bool weak) {
    unsigned list[MOST];
    int count = workers_list(machine, list);
    double ns = weak ? work_each() : options.quick ? 32e6 : 64e6;
    const char *question = weak ? "weak" : "strong";
    sim.machine = machine;
    char title[64];
    snprintf(title, sizeof title, "efficiency, %% (%g ms of work %s)", ns / 1e6,
             weak ? "for each worker" : "as a whole");
    head(title, list, count);
    for (int w = 0; w < WORKLOADS; w++) {
        const workload *load = &workloads[w];
        if (!row_wanted(w)) continue;
        outcome one = workload_alone(load, machine, weak ? ns : 4e6);
        printf("%-12s", load->name);
        for (int i = 0; i < count; i++) {
            double units = ns * (weak ? list[i] : 1) / load->unit_ns;
            outcome many = workload_measure(load, machine, list[i], units, 0);
            double efficiency = workload_efficiency(load, &one, &many, list[i]);
            printf("%8.1f", 100 * efficiency);
            fflush(stdout);
            report_row(question, load->name, list[i], "efficiency", efficiency);
            report_row(question, load->name, list[i], "worst_line", many.worst);
            report_row(question, load->name, list[i], "ns_per_unit",
                       many.ns * list[i] / many.units);
        }
        printf("  %s\n", load->what);
    }
}

static void ask_weak(const sim_machine *machine) { ask_efficiency(machine, true); }
static void ask_strong(const sim_machine *machine) { ask_efficiency(machine, false); }

/* ---- spread ---- */

static void ask_spread(const sim_machine *machine) {
    unsigned list[MOST];
    int count = workers_list(machine, list);
    static double starts[SIM_CORES];
    double latency = machine->wake_latency / 1e3;
    sim.machine = machine;
    printf("\na burst of n tasks of 2 ms on n sleeping workers: until the k-th has begun, in "
           "wake-up latencies of %g us; %s\n%-10s%8s%10s%10s%10s%10s%10s\n",
           latency, machine->what, "from", "n", "first", "half", "90%", "last", "wakes");
    for (int from = BURST_OUTSIDE; from <= BURST_WORKER; from++) {
        for (int i = 0; i < count; i++) {
            unsigned n = list[i];
            uint64_t wakes = spread_burst(machine, n, n, (burst)from, starts);
            printf("%-10s%8u%10.1f%10.1f%10.1f%10.1f%10llu\n", burst_names[from], n,
                   starts[0] / latency, starts[(n - 1) / 2] / latency,
                   starts[(n - 1) * 9 / 10] / latency, starts[n - 1] / latency,
                   (unsigned long long)wakes);
            report_row("spread", burst_names[from], n, "latencies", starts[n - 1] / latency);
            if (i == count - 1)
                for (unsigned k = 0; k < n; k++)
                    report_row("curve", burst_names[from], k + 1, "us", starts[k]);
        }
    }
    head("a burst of 4 such tasks from a worker: wake-ups, and latencies until the last began",
         list, count);
    printf("%-12s", "wake-ups");
    double last[MOST];
    for (int i = 0; i < count; i++) {
        uint64_t wakes = spread_burst(machine, list[i], 4, BURST_WORKER, starts);
        printf("%8llu", (unsigned long long)wakes);
        last[i] = starts[3] / latency;
    }
    printf("\n%-12s", "latencies");
    for (int i = 0; i < count; i++) printf("%8.1f", last[i]);
    printf("\n%-12s", "loop, x");
    for (int i = 0; i < count; i++) {
        double times = spread_loop(machine, list[i]);
        printf("%8.2f", times);
        report_row("spread", "loop", list[i], "times_ideal", times);
    }
    printf("  a loop of 200 us for each of n sleepers, beside 200 us\n");
}

/* ---- open load ---- */

static void ask_load(const sim_machine *machine) {
    static const double shares[] = {0.5, 0.8, 0.95};
    unsigned list[MOST];
    int count = workers_list(machine, list);
    sim.machine = machine;
    printf("\nan open load: tasks of 1 us to 1 ms come from a thread for %d workers, %d at least; "
           "us from arrival to start; %s\n%7s%9s%9s%9s%9s%12s%8s%8s%8s%8s\n",
           LOAD_WORKERS, LOAD_THREADS, machine->what, "load", "workers", "median", "99%", "99.9%",
           "service 99%", "awake", "busy", "wakes", "line");
    for (int s = 0; s < 3; s++) {
        for (int i = 0; i < count; i++) {
            size_t tasks = (options.quick ? 200u : 1000u) * list[i] + 5000;
            load_result r = load_run(machine, list[i], shares[s], tasks, 0);
            char name[16];
            snprintf(name, sizeof name, "%.0f%%", 100 * shares[s]);
            printf("%7s%9u%9.2f%9.1f%9.1f%12.1f%8.1f%8.1f%8.2f%7.1f%%\n", name, list[i],
                   r.wait_p50, r.wait_p99, r.wait_p999, r.service_p99, r.awake, r.busy, r.wakes,
                   100 * r.worst);
            report_row("load", name, list[i], "p50_us", r.wait_p50);
            report_row("load", name, list[i], "p99_us", r.wait_p99);
            report_row("load", name, list[i], "p999_us", r.wait_p999);
            report_row("load", name, list[i], "service_p99_us", r.service_p99);
            report_row("load", name, list[i], "awake_idle", r.awake - r.busy);
            report_row("load", name, list[i], "wakes_per_task", r.wakes);
        }
    }
}

/* ---- events ---- */

/* One pool, whose one driver hears of all events, beside a pool for each 8 workers. */
static void ask_events(const sim_machine *machine) {
    static const uint32_t lengths[] = {3000, 10000};
    unsigned list[MOST];
    int count = workers_list(machine, list);
    sim.machine = machine;
    printf("\nan open load of events, each for a task, 80%% of what the workers could do: us from arrival "
           "to start, and the share of the load that is done; %s\n%7s%9s%12s%9s%9s%14s%9s%9s\n",
           machine->what, "task", "workers", "one driver", "99%", "done", "one for 8", "99%", "done");
    for (int t = 0; t < 2; t++) {
        for (int i = 0; i < count; i++) {
            size_t events = (options.quick ? 300u : 1000u) * list[i] + 3000;
            event_result r[2];
            char name[16];
            snprintf(name, sizeof name, "%gus", lengths[t] / 1e3);
            for (int k = 0; k < 2; k++) {
                r[k] = events_run(machine, list[i], k == 0 ? list[i] : 8, 0.8, lengths[t], events);
                report_row(k == 0 ? "events" : "events8", name, list[i], "p50_us", r[k].wait_p50);
                report_row(k == 0 ? "events" : "events8", name, list[i], "p99_us", r[k].wait_p99);
                report_row(k == 0 ? "events" : "events8", name, list[i], "done", r[k].done);
            }
            printf("%7s%9u%12.1f%9.1f%8.0f%%%14.1f%9.1f%8.0f%%\n", name, list[i], r[0].wait_p50,
                   r[0].wait_p99, 100 * r[0].done, r[1].wait_p50, r[1].wait_p99, 100 * r[1].done);
            fflush(stdout);
        }
    }
}

/* ---- steps ---- */

static void ask_steps(const sim_machine *machine) {
    static const struct {
        const char *name, *what;
        double (*step)(const sim_machine *machine, unsigned workers);
    } steps[] = {
        {"ping-pong", "ns: a round trip of each of n pairs", step_ping_pong},
        {"pipeline", "ns: a thing moves on by a stage of 2 us", step_pipeline},
        {"barrier", "us: an iteration of 10 us on each worker", step_barrier},
    };
    unsigned list[MOST];
    int count = workers_list(machine, list);
    sim.machine = machine;
    head("what a step costs", list, count);
    for (int s = 0; s < 3; s++) {
        printf("%-12s", steps[s].name);
        for (int i = 0; i < count; i++) {
            double value = steps[s].step(machine, list[i]);
            printf(value < 1000 ? "%8.1f" : "%8.0f", value);
            fflush(stdout);
            report_row("steps", steps[s].name, list[i], s == 2 ? "us" : "ns", value);
        }
        printf("  %s\n", steps[s].what);
    }
}

/* ---- what users write ---- */

static void ask_users(const sim_machine *machine) {
    unsigned list[MOST];
    int count = workers_list(machine, list);
    sim.machine = machine;
    head("what users write, from outside the pool, us", list, count);
    for (int r = 0; r < USER_ROWS; r++) {
        const struct user_row *row = &user_rows[r];
        printf("%-12s", row->name);
        for (int i = 0; i < count; i++) {
            wsq_pool *pool = pool_make(machine, list[i]);
            for (int k = 1; k < USER_WARM; k++) row->run(pool); /* workers learn how long tasks take */
            double us = row->run(pool);
            sim_pool_end(pool);
            printf("%8.2f", us);
            fflush(stdout);
            report_row("users", row->name, list[i], "us", us);
        }
        printf("  %s; the work alone: %g\n", row->what, row->alone);
    }
}

/* ---- the hottest lines ---- */

static void ask_hot(const sim_machine *machine) {
    unsigned list[MOST];
    int count = workers_list(machine, list);
    unsigned n = list[count - 1];
    double ns = work_each() * n;
    for (int w = 0; w < WORKLOADS; w++)
        if (row_wanted(w))
            workload_measure(&workloads[w], machine, n, ns / workloads[w].unit_ns, 10);
    if (options.row_count == 0) load_run(machine, n, 0.8, 500 * n, 10);
}

/* ---- headline cases ---- */

/* What libraries are compared by, on 64 cores of an EPYC 7742
 * (github.com/tzcnt/runtime-benchmarks), beside what wsq would take on that machine's lines; its
 * cores are those of "here", which are faster. */
static void ask_headline(const sim_machine *machine) {
    static const struct {
        const char *name, *what, *others;
        double (*run)(wsq_pool *pool, double units);
        double units;
    } rows[] = {
        {"fib 39", "", "citor 50, libfork 62, TooManyCooks 87, Taskflow 157, oneTBB 216", run_fib,
         102334153},
        {"skynet 10^8", "", "citor 25, libfork 37, TooManyCooks 38, oneTBB 143, Taskflow 185",
         run_skynet, 1e8},
        {"uts", ", 16.5 million nodes of 100 ns", "TooManyCooks 50 (T1, the same number of nodes)",
         run_uts, 16.5e6},
    };
    unsigned list[MOST];
    int count = workers_list(machine, list);
    unsigned n = options.worker_count != 0 ? list[count - 1] : 64;
    printf("\nheadline cases, ms, %u workers; %s\n", n, machine->what);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        wsq_pool *pool = pool_make(machine, n);
        rows[i].run(pool, rows[i].units);
        printf("%-12s%8.2f%s; measured there: %s\n", rows[i].name,
               (double)(run_end - run_start) / 1e6, rows[i].what, rows[i].others);
        report_row("headline", rows[i].name, n, "ms", (double)(run_end - run_start) / 1e6);
        sim_pool_end(pool);
    }
}

/* ---- arguments ---- */

static const struct {
    const char *name, *what;
    void (*ask)(const sim_machine *machine);
    bool named; /* only if it is asked for by its name */
} questions[] = {
    {"weak", "efficiency where the work for each worker is fixed", ask_weak, false},
    {"strong", "efficiency where the work as a whole is fixed", ask_strong, false},
    {"spread", "how soon a sleeping pool is at work", ask_spread, false},
    {"load", "how long tasks wait under an open load", ask_load, false},
    {"events", "an open load of events that a driver hears of", ask_events, false},
    {"steps", "ping-pong, pipeline, barrier", ask_steps, false},
    {"users", "bursts, requests, short loops, pipelines from outside", ask_users, false},
    {"hot", "the hottest lines of each run", ask_hot, false},
    {"headline", "cases that libraries are compared by, on 64 cores", ask_headline, true},
};

enum { QUESTIONS = sizeof questions / sizeof *questions };

static void usage(const char *problem, const char *word) {
    fprintf(stderr, "questions: %s: %s\n", problem, word);
    fprintf(stderr, "questions [-q] [-s] [-l] [-m MACHINE]... [-n WORKERS]... [-r ROW]... [-w MS] [-c FILE] "
                    "[QUESTION...]\n"
                    "machines:\n");
    for (size_t i = 0; i < SIM_MACHINES; i++)
        fprintf(stderr, "    %-8s %s\n", sim_machines[i].name, sim_machines[i].what);
    fprintf(stderr, "questions:\n");
    for (int i = 0; i < QUESTIONS; i++)
        fprintf(stderr, "    %-8s %s\n", questions[i].name, questions[i].what);
    exit(2);
}

static const sim_machine *machine_named(const char *name) {
    for (size_t i = 0; i < SIM_MACHINES; i++)
        if (strcmp(sim_machines[i].name, name) == 0) return &sim_machines[i];
    usage("no such machine", name);
    return NULL;
}

static unsigned workers_named(const char *text) {
    char *end;
    unsigned long n = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != 0 || n == 0 || n > 1024)
        usage("the number of workers must be 1 to 1024", text);
    return (unsigned)n;
}

static int row_named(const char *name) {
    for (int i = 0; i < WORKLOADS; i++)
        if (strcmp(workloads[i].name, name) == 0) return i;
    usage("no such row", name);
    return 0;
}

static double work_named(const char *text) {
    char *end;
    double ms = strtod(text, &end);
    if ((*text < '0' || *text > '9') || *end != 0 || !(ms >= 0.01) || ms > 100)
        usage("the work for each worker must be 0.01 to 100 ms", text);
    return ms;
}

static int question_named(const char *name) {
    for (int i = 0; i < QUESTIONS; i++)
        if (strcmp(questions[i].name, name) == 0) return i;
    usage("no such question", name);
    return 0;
}

static int program(int argc, char **argv) {
    int asked[MOST], count = 0;
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        bool option = word[0] == '-' && word[1] != 0 && word[2] == 0;
        if (count == MOST || options.machine_count == MOST || options.worker_count == MOST)
            usage("too many arguments, beginning with", word);
        if (option && word[1] == 'q') {
            options.quick = true;
        } else if (option && word[1] == 's') {
            sim_order = WSQ_SHARED;
        } else if (option && word[1] == 'l') {
            sim_lifo_cap = WSQ_LIFO_OFF;
        } else if (option && strchr("mnrwc", word[1]) != NULL) {
            if (value == NULL) usage("this option needs a value", word);
            i++;
            if (word[1] == 'm') options.machines[options.machine_count++] = machine_named(value);
            if (word[1] == 'n') options.workers[options.worker_count++] = workers_named(value);
            if (word[1] == 'r') {
                options.rows[row_named(value)] = true;
                options.row_count++;
            }
            if (word[1] == 'w') options.work_ms = work_named(value);
            if (word[1] == 'c' && (report_csv = fopen(value, "w")) == NULL)
                usage("cannot be written", value);
        } else if (word[0] == '-') {
            usage("no such option", word);
        } else {
            asked[count++] = question_named(word);
        }
    }
    if (options.machine_count == 0)
        options.machines[options.machine_count++] = machine_named("128");
    for (int m = 0; m < options.machine_count; m++) {
        for (int i = 0; i < options.worker_count; i++)
            if (options.workers[i] > options.machines[m]->cores)
                usage("there are more workers than cores on machine", options.machines[m]->name);
        for (int i = 0; i < QUESTIONS; i++) {
            bool wanted = count == 0 && !questions[i].named;
            for (int k = 0; k < count; k++) wanted = wanted || asked[k] == i;
            if (wanted) questions[i].ask(options.machines[m]);
        }
    }
    if (report_csv != NULL && fclose(report_csv) != 0) sim_fail("the file could not be written");
    return 0;
}

int main(int argc, char **argv) { return sim_program_run(program, argc, argv); }
